package api

import (
	"bufio"
	"compress/gzip"
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

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
)

// TestExistingClient replays what the existing command line client sends, byte for byte, and reads the answers as it
// does.
func TestExistingClient(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.AddVersion(t)
	session := s.connectClient(t)

	if diff := cmp.Diff(v1User{
		Email: "executor@harbour-energy.example", Name: "Demo executor", Username: "executor@harbour-energy.example",
	}, exchange[v1User](t, session, http.StatusOK)); diff != "" {
		t.Errorf("user (-want +got):\n%s", diff)
	}
	orgs := exchange[v1List[v1Org]](t, session, http.StatusOK)
	if orgs.Next != nil || orgs.Previous != nil || len(orgs.Results) != 1 || orgs.Results[0].Slug != "harbour-energy" ||
		orgs.Results[0].Name == "" {
		t.Errorf("organizations = %+v, want harbour-energy alone on the only page", orgs)
	}
	workflows := exchange[v1List[v1Workflow]](t, session, http.StatusOK)
	building := exchange[v1Workflow](t, session, http.StatusOK)
	if !slices.ContainsFunc(workflows.Results, func(w v1Workflow) bool { return cmp.Equal(w, building) }) ||
		building.OrgSlug != "harbour-energy" || building.Constants == nil || len(building.Steps) == 0 {
		t.Errorf("workflows = %+v, want building as it reads alone: %+v", workflows.Results, building)
	}
	for _, workflow := range []string{"building", "meter-readings"} {
		started := exchange[v1Run](t, session, http.StatusCreated)
		if started.State != "PENDING" || started.Source != "CLI" || started.WorkflowSlug != workflow {
			t.Errorf("run = %+v, want a pending one of %s from the CLI", started, workflow)
		}
		s.Work(t)
		session.run = started.ID.String()
		ended := exchange[v1Run](t, session, http.StatusOK)
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
	start := s.Start(t, "").To("/api/v1/orgs/harbour-energy/workflows/meter-readings/runs/")

	t.Run("IgnoresTheProject", func(t *testing.T) {
		t.Parallel()
		s.Started(t, start.To(start.Path+"?project="+unknownID))
	})

	t.Run("SharesItsKeysWithTheOtherAddress", func(t *testing.T) {
		t.Parallel()
		keyed := start.With("Idempotency-Key", "shared")
		first := s.Must(t, http.StatusCreated, keyed)
		fixture.WantReplay(t, first, s.Do(t, keyed))
		fixture.WantReplay(t, first, s.Do(t, s.Start(t, "shared")))
		s.Refused(t, api.CodeKeyInvalid, start.With("Idempotency-Key", ""))
	})

	t.Run("OtherOrganizationsAreNotThere", func(t *testing.T) {
		t.Parallel()
		for _, org := range []string{"tiny-quota", "nobody", "HARBOUR-ENERGY", s.Harbour.ID.String()} {
			for _, c := range []call{
				start.To("/api/v1/orgs/" + org + "/workflows/meter-readings/runs/"),
				start.Get().To("/api/v1/orgs/" + org + "/workflows/"),
				start.Get().To("/api/v1/orgs/" + org + "/workflows/meter-readings/"),
				start.Get().To("/api/v1/orgs/" + org + "/runs/" + unknownID + "/"),
			} {
				s.Refused(t, api.CodeNotFound, c)
			}
		}
	})

	t.Run("NeedsNoKeyWhereKeysAreRequired", func(t *testing.T) {
		t.Parallel()
		strict := setup(t)
		strict.Exec(t, `UPDATE organizations SET key_required = true`)
		strict.Refused(t, api.CodeKeyRequired, strict.Start(t, ""))
		strict.Started(t, start.By(strict.Harbour.Tokens.Executor))
	})
}

func TestV1Lists(t *testing.T) {
	t.Parallel()

	t.Run("OnePage", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		cli := s.v1(s.Harbour.Tokens.Viewer)
		workflows, sizes := listV1[v1Workflow](t, cli, cli.workflowsAddress())
		if diff := cmp.Diff([]int{3}, sizes); diff != "" {
			t.Errorf("pages (-want +got):\n%s", diff)
		}
		for _, workflow := range workflows {
			for _, name := range []string{workflow.Slug, workflow.ID.String()} {
				alone := getV1[v1Workflow](t, cli, cli.workflowsAddress()+name+"/")
				if diff := cmp.Diff(workflow, alone); diff != "" {
					t.Errorf("%s (-listed +alone):\n%s", name, diff)
				}
			}
		}
	})

	t.Run("SeveralPages", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		cli := s.v1(s.Harbour.Tokens.Executor)
		found, sizes := listV1[v1Workflow](t, cli, cli.workflowsAddress()+"?page_size=2")
		if diff := cmp.Diff([]int{2, 1}, sizes); diff != "" || found[1].ID == found[2].ID {
			t.Errorf("workflows = %+v on pages of %v, want three of 2 and 1", found, sizes)
		}
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
	conn, err := dialer.DialContext(tb.Context(), "tcp", s.Address)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = conn.Close() }) // Nothing is lost with it.
	if err := conn.SetDeadline(time.Now().Add(fixture.Patience)); err != nil {
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
	plain := io.Reader(response.Body)
	if response.Header.Get("Content-Encoding") == "gzip" {
		if plain, err = gzip.NewReader(plain); err != nil {
			tb.Fatalf("decode the answer to %s: %v", line, err)
		}
	}
	body, err := io.ReadAll(plain)
	if err != nil {
		tb.Fatalf("read the answer to %s: %v", line, err)
	}
	if response.StatusCode != status {
		tb.Fatalf("%s = %d %s, want %d", line, response.StatusCode, body, status)
	}
	return readV1[T](tb, line, body)
}
