package api

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/simplevalidations/simplevalidations/config"
	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/validations"
)

// heldBody is a body that arrives only after something else has been done. The client sends it when the server asks for
// it, so the headers have been dealt with by then.
type heldBody struct {
	io.Reader

	meanwhile func()
	once      sync.Once
}

func (b *heldBody) Read(p []byte) (int, error) {
	b.once.Do(b.meanwhile)
	return b.Reader.Read(p)
}

// slowly makes the request, and does something else between its headers and its body.
func (s *stage) slowly(tb testing.TB, c call, meanwhile func()) answer {
	tb.Helper()
	request, err := c.Request(tb.Context(), s.Address)
	if err != nil {
		tb.Fatal(err)
	}
	request.Header.Set("Expect", "100-continue")
	held := &heldBody{Reader: strings.NewReader(c.Body), meanwhile: meanwhile}
	request.Body, request.GetBody = io.NopCloser(held), nil
	transport := &http.Transport{ExpectContinueTimeout: fixture.Patience}
	defer transport.CloseIdleConnections()
	response, err := transport.RoundTrip(request)
	if err != nil {
		tb.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		tb.Fatal(err)
	}
	return answer{Status: response.StatusCode, Header: response.Header, Body: body}
}

// setupSuspicious looks the right of every request up again when its body has arrived.
func setupSuspicious(tb testing.TB) *stage {
	tb.Helper()
	return setup(tb, func(settings *config.Settings) { settings.AccessTrust = 0 })
}

func TestSlowBodyOutlivesNoRight(t *testing.T) {
	t.Parallel()
	s := setupSuspicious(t)
	for name, tt := range map[string]struct {
		change string
		want   api.Code
	}{
		"TokenRevoked": {`UPDATE api_tokens SET revoked_at = now() WHERE org_id = $1`, api.CodeNotAuthenticated},
		"TokenDeleted": {`DELETE FROM api_tokens WHERE org_id = $1`, api.CodeNotAuthenticated},
		"MemberGone": {
			`DELETE FROM memberships WHERE org_id = $1`, api.CodePermissionDenied,
		},
		"RoleLowered":         {`UPDATE api_tokens SET role = 'viewer' WHERE org_id = $1`, api.CodeUnavailable},
		"WorkflowDeactivated": {`UPDATE workflows SET is_active = false WHERE org_id = $1`, api.CodeWorkflowInactive},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := s.accessCast(t)
			got := s.slowly(t, c.start(t, s), func() { s.Exec(t, tt.change, c.orgID) })
			fixture.WantProblem(t, got, tt.want)
			s.wantRows(t, fixture.RowCounts{})
		})
	}
}

func TestSlowBodyOfAnotherKindOutlivesNoRight(t *testing.T) {
	t.Parallel()
	s := setupSuspicious(t)
	token, id := s.AddToken(t, s.Harbour, api.RoleOwner, api.RoleOwner)
	revoke := func() { s.Exec(t, `UPDATE api_tokens SET revoked_at = now() WHERE id = $1`, id) }
	c := call{Method: http.MethodPost, Path: "/api/tokens/", Token: token, Body: `{"label":"late","role":"owner"}`}
	fixture.WantProblem(t, s.slowly(t, c.With("Content-Type", "application/json"), revoke), api.CodeNotAuthenticated)
	if made := coretest.One[int](t, s.DB, `SELECT count(*) FROM api_tokens WHERE label = 'late'`); made != 0 {
		t.Errorf("tokens made = %d, want none", made)
	}
}

func TestSlowBodyUnderAnUnchangedRight(t *testing.T) {
	t.Parallel()
	s := setupSuspicious(t)
	// Whatever else changes in the organization is no reason to refuse the request.
	_, other := s.AddToken(t, s.Harbour, api.RoleViewer, api.RoleViewer)
	got := s.slowly(t, s.Start(t, "key"), func() {
		s.Exec(t, `UPDATE api_tokens SET revoked_at = now() WHERE id = $1`, other)
	})
	if got.Status != http.StatusCreated {
		t.Fatalf("status = %d, want 201; body %s", got.Status, got.Body)
	}
	again := s.slowly(t, s.Start(t, "key"), func() {})
	if again.Status != http.StatusCreated || again.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("again = %d, want the replay; body %s", again.Status, again.Body)
	}
}

func TestSlowFormOutlivesNoRight(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change string
		want   int
	}{
		"SignedOut": {`DELETE FROM sessions`, http.StatusUnauthorized},
		"RoleLowered": {
			`UPDATE memberships SET role = 'viewer' WHERE role <> 'owner'`, http.StatusServiceUnavailable,
		},
		"WorkflowDeactivated": {`UPDATE workflows SET is_active = false`, http.StatusUnprocessableEntity},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := setupSuspicious(t)
			session := s.Visitor(t, api.RoleExecutor)
			html := s.Visit(t, http.StatusOK, fixture.Page(fixture.LaunchMeters, session))
			c := fixture.FilledIn(t, html).To(t, fixture.LaunchMeters, session)
			before := s.RowCounts(t)
			got := s.slowly(t, c, func() { s.Exec(t, tt.change) })
			if got.Status != tt.want {
				t.Errorf("status = %d, want %d; body %s", got.Status, tt.want, got.Body)
			}
			if after := s.RowCounts(t); after != before {
				t.Errorf("rows = %+v, want %+v as before", after, before)
			}
		})
	}
}

// lookedUp sends a request for a run, and returns once its caller was let in and the run is being read. Until the
// returned function is called it gets no further.
func (s *stage) lookedUp(tb testing.TB, c call) (chan answer, func()) {
	tb.Helper()
	tx, err := s.DB.Pool.Begin(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	release := func() { _ = tx.Rollback(context.WithoutCancel(tb.Context())) } // It may be over already.
	tb.Cleanup(release)
	if _, err := tx.Exec(tb.Context(), `LOCK TABLE validation_runs IN ACCESS EXCLUSIVE MODE`); err != nil {
		tb.Fatal(err)
	}
	answers := make(chan answer, 1)
	go func() {
		got, err := s.Send(tb.Context(), c)
		if err != nil {
			tb.Error(err)
		}
		answers <- got
	}()
	coretest.Eventually(tb, func() bool {
		return coretest.One[int](tb, s.DB, `SELECT count(*) FROM pg_stat_activity
			WHERE wait_event_type = 'Lock' AND datname = current_database()`) > 0
	})
	return answers, release
}

func TestWaitEndsWithTheRightToIt(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.Waits(t)
	token, id := s.AddToken(t, s.Harbour, api.RoleViewer, api.RoleViewer)
	start := s.Start(t, "")
	run := start.To(validations.RunAddress(s.Started(t, start).ID) + "?wait=1").Get().By(token)
	answers, release := s.lookedUp(t, run)
	s.Exec(t, `UPDATE api_tokens SET revoked_at = now() WHERE id = $1`, id)
	release()
	fixture.WantProblem(t, <-answers, api.CodeNotAuthenticated)
}

func TestStreamEndsWithTheRightToIt(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.Waits(t)
	token, id := s.AddToken(t, s.Harbour, api.RoleViewer, api.RoleViewer)
	start := s.Start(t, "")
	events := start.To(validations.RunAddress(s.Started(t, start).ID) + "events/").Get().By(token)
	reader, end := s.follow(t, events)
	defer end()
	reader.next(t)
	s.Exec(t, `UPDATE api_tokens SET revoked_at = now() WHERE id = $1`, id)
	s.Work(t)
	for reader.lines.Scan() {
		if text := reader.lines.Text(); strings.HasPrefix(text, "event: ") {
			t.Errorf("line = %s, want no more events", text)
		}
	}
}
