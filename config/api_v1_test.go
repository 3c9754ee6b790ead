package config_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
)

// The types are what the existing command line client reads, and no more.
type (
	clientUser struct {
		Email    string `json:"email"`
		Name     string `json:"name"`
		Username string `json:"username"`
	}
	clientList[T any] struct {
		Next     *string `json:"next"`
		Previous *string `json:"previous"`
		Results  []T     `json:"results"`
	}
	clientOrg struct {
		ID   uuid.UUID `json:"id"`
		Slug string    `json:"slug"`
		Name string    `json:"name"`
	}
	clientWorkflow struct {
		ID          uuid.UUID `json:"id"`
		Slug        string    `json:"slug"`
		Name        string    `json:"name"`
		Description string    `json:"description"`
		Version     int       `json:"version"`
		OrgSlug     string    `json:"org_slug"`
		IsActive    bool      `json:"is_active"`
		Steps       []struct {
			ID            string `json:"id"`
			Name          string `json:"name"`
			ValidatorType string `json:"validator_type"`
			Order         int    `json:"order"`
		} `json:"steps"`
		Constants []string  `json:"constants"`
		CreatedAt time.Time `json:"created_at"`
		UpdatedAt time.Time `json:"updated_at"`
	}
	clientRun struct {
		ID                uuid.UUID  `json:"id"`
		Workflow          uuid.UUID  `json:"workflow"`
		WorkflowSlug      string     `json:"workflow_slug"`
		Org               string     `json:"org"`
		Source            string     `json:"source"`
		State             string     `json:"state"`
		Result            string     `json:"result"`
		Status            string     `json:"status"`
		Error             string     `json:"error"`
		ErrorCategory     string     `json:"error_category"`
		UserFriendlyError string     `json:"user_friendly_error"`
		DurationMS        int64      `json:"duration_ms"`
		StartedAt         *time.Time `json:"started_at"`
		EndedAt           *time.Time `json:"ended_at"`
		Steps             []struct {
			StepID string `json:"step_id"`
			Name   string `json:"name"`
			Status string `json:"status"`
			Error  string `json:"error"`
			Issues []struct {
				ID          uuid.UUID `json:"id"`
				Severity    string    `json:"severity"`
				Code        string    `json:"code"`
				Message     string    `json:"message"`
				Path        string    `json:"path"`
				AssertionID string    `json:"assertion_id"`
			} `json:"issues"`
		} `json:"steps"`
	}
)

// TestExistingClient replays what the existing command line client sends, byte for byte, and reads the answers as it
// does.
func TestExistingClient(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.addVersion(t)
	session := s.connectClient(t)

	if diff := cmp.Diff(clientUser{
		Email: "executor@harbour-energy.example", Name: "Demo executor", Username: "executor@harbour-energy.example",
	}, exchange[clientUser](t, session, http.StatusOK)); diff != "" {
		t.Errorf("user (-want +got):\n%s", diff)
	}
	orgs := exchange[clientList[clientOrg]](t, session, http.StatusOK)
	wantEnd(t, orgs)
	if len(orgs.Results) != 1 || orgs.Results[0].Slug != "harbour-energy" {
		t.Errorf("organizations = %+v, want harbour-energy", orgs.Results)
	}
	workflows := exchange[clientList[clientWorkflow]](t, session, http.StatusOK)
	wantEnd(t, workflows)
	building := exchange[clientWorkflow](t, session, http.StatusOK)
	if !slices.ContainsFunc(workflows.Results, func(w clientWorkflow) bool { return cmp.Equal(w, building) }) ||
		building.OrgSlug != "harbour-energy" || building.Constants == nil || len(building.Steps) == 0 {
		t.Errorf("workflows = %+v, want building as it reads alone: %+v", workflows.Results, building)
	}
	for _, workflow := range []string{"building", "meter-readings"} {
		started := exchange[clientRun](t, session, http.StatusCreated)
		wantEnums(t, started)
		if started.State != "PENDING" || started.Source != "CLI" || started.WorkflowSlug != workflow {
			t.Errorf("run = %+v, want a pending one of %s from the CLI", started, workflow)
		}
		s.work(t)
		session.run = started.ID.String()
		ended := exchange[clientRun](t, session, http.StatusOK)
		wantEnums(t, ended)
		if ended.ID != started.ID || ended.State != "COMPLETED" || ended.Result != "FAIL" || ended.Status != "FAILED" {
			t.Errorf("run = %+v, want %s completed with FAIL", ended, started.ID)
		}
	}
	if len(session.requests) != 0 {
		t.Errorf("%d requests were not replayed", len(session.requests))
	}
}

func TestExistingClientBeyondItsRecords(t *testing.T) {
	t.Parallel()
	s := setup(t)
	start := s.start(t, "").to("/api/v1/orgs/harbour-energy/workflows/meter-readings/runs/")

	t.Run("PagesStayAtTheirAddress", func(t *testing.T) {
		t.Parallel()
		var slugs []string
		address := "/api/v1/orgs/harbour-energy/workflows/?page_size=1"
		for next := &address; next != nil; {
			if !strings.HasPrefix(*next, "/api/v1/orgs/harbour-energy/workflows/?") {
				t.Fatalf("next = %q, want an address of the same list", *next)
			}
			got := s.must(t, http.StatusOK, call{path: *next, token: s.Harbour.Tokens.Viewer})
			var list clientList[clientWorkflow]
			if err := json.Unmarshal(got.body, &list); err != nil {
				t.Fatal(err)
			}
			for _, workflow := range list.Results {
				slugs = append(slugs, workflow.Slug)
			}
			next = list.Next
		}
		if want := []string{"legacy-import", "meter-readings", "building"}; !cmp.Equal(want, slugs) {
			t.Errorf("workflows = %v, want %v", slugs, want)
		}
	})

	t.Run("IgnoresTheProject", func(t *testing.T) {
		t.Parallel()
		s.started(t, start.to(start.path+"?project="+unknownID))
	})

	t.Run("KeysAreUnderstoodAndOneWithThoseOfTheOtherAddress", func(t *testing.T) {
		t.Parallel()
		keyed := start.with("Idempotency-Key", "shared")
		first := s.must(t, http.StatusCreated, keyed)
		wantReplay(t, first, s.do(t, keyed))
		wantReplay(t, first, s.do(t, s.start(t, "shared")))
		s.refused(t, core.CodeKeyInvalid, start.with("Idempotency-Key", ""))
	})

	t.Run("OtherOrganizationsAreNotThere", func(t *testing.T) {
		t.Parallel()
		for _, org := range []string{"tiny-quota", "nobody", "HARBOUR-ENERGY", s.Harbour.ID.String()} {
			for _, c := range []call{
				start.to("/api/v1/orgs/" + org + "/workflows/meter-readings/runs/"),
				start.get().to("/api/v1/orgs/" + org + "/workflows/"),
				start.get().to("/api/v1/orgs/" + org + "/workflows/meter-readings/"),
				start.get().to("/api/v1/orgs/" + org + "/runs/" + unknownID + "/"),
			} {
				s.refused(t, core.CodeNotFound, c)
			}
		}
	})

	t.Run("NeedsNoKeyWhereKeysAreRequired", func(t *testing.T) {
		t.Parallel()
		strict := setup(t)
		strict.exec(t, `UPDATE organizations SET key_required = true`)
		strict.refused(t, core.CodeKeyRequired, strict.start(t, ""))
		strict.started(t, start.by(strict.Harbour.Tokens.Executor))
	})
}

// clientSession is the existing client on one connection.
type clientSession struct {
	conn   net.Conn
	reader *bufio.Reader
	token  string
	// run is what the client reads next.
	run string
	// requests are those that are still to be sent.
	requests []string
}

func (s *stage) connectClient(tb testing.TB) *clientSession {
	tb.Helper()
	records, err := os.ReadFile(filepath.Join("testdata", "existing-client.http"))
	if err != nil {
		tb.Fatal(err)
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(tb.Context(), "tcp", s.address)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = conn.Close() }) // Nothing is lost with it.
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		tb.Fatal(err)
	}
	// Lines end in CR LF, but for those of documents: they are recorded with a \n of their own.
	wire := strings.NewReplacer("\\n\n", "\n", "\n", "\r\n").Replace(string(records))
	return &clientSession{
		conn: conn, reader: bufio.NewReader(conn), token: s.Harbour.Tokens.Executor,
		requests: strings.Split(wire, "###\r\n"),
	}
}

// exchange sends the next recorded request and reads its answer.
func exchange[T any](tb testing.TB, c *clientSession, status int) T {
	tb.Helper()
	wire := strings.NewReplacer("{token}", c.token, "{run}", c.run).Replace(c.requests[0])
	c.requests = c.requests[1:]
	line, _, _ := strings.Cut(wire, "\r\n")
	if _, err := io.WriteString(c.conn, wire); err != nil {
		tb.Fatalf("send %s: %v", line, err)
	}
	response, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		tb.Fatalf("read the answer to %s: %v", line, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		tb.Fatalf("read the answer to %s: %v", line, err)
	}
	if response.StatusCode != status {
		tb.Fatalf("%s = %d %s, want %d", line, response.StatusCode, body, status)
	}
	var value T
	if err := json.Unmarshal(body, &value); err != nil {
		tb.Fatalf("read the answer to %s: %v", line, err)
	}
	return value
}

// wantEnd demands a list of one page.
func wantEnd[T any](tb testing.TB, list clientList[T]) {
	tb.Helper()
	if list.Next != nil || list.Previous != nil {
		tb.Errorf("next = %v and previous = %v, want null", list.Next, list.Previous)
	}
}

// wantEnums demands the words that the client knows, and no others.
func wantEnums(tb testing.TB, run clientRun) {
	tb.Helper()
	check := func(name, got, known string) {
		if !slices.Contains(strings.Split(known, " "), got) {
			tb.Errorf("%s = %q, want one of %s", name, got, known)
		}
	}
	check("source", run.Source, "API DASHBOARD CLI")
	check("state", run.State, "PENDING RUNNING COMPLETED")
	check("result", run.Result, "UNKNOWN PASS FAIL ERROR CANCELED TIMED_OUT")
	check("status", run.Status, "PENDING RUNNING SUCCEEDED FAILED CANCELED TIMED_OUT")
	check("error_category", run.ErrorCategory, " VALIDATION_FAILED TIMEOUT RUNTIME_ERROR SYSTEM_ERROR")
	for _, step := range run.Steps {
		check("step status", step.Status, "PENDING RUNNING PASSED FAILED SKIPPED")
		for _, issue := range step.Issues {
			check("severity", issue.Severity, "ERROR WARNING INFO")
		}
	}
}
