package api

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
)

// release is harbour's owner's request to free a key.
func (s *stage) release(id string) call {
	c := call{
		Method: http.MethodPost, Path: "/api/idempotency-keys/" + id + "/release/",
		Token: s.Harbour.Tokens.Owner,
	}
	return c.WithBody("application/json", `{"reason":"billing is back"}`)
}

func keysOf(page fixture.KeyPage) []string {
	names := make([]string, len(page.Results))
	for i, entry := range page.Results {
		names[i] = entry.Key
	}
	return names
}

func TestKeyList(t *testing.T) {
	t.Parallel()
	s := setup(t)
	var newestFirst []string
	for i := range 7 {
		key := fmt.Sprintf("listed-%d", i)
		s.Started(t, s.Start(t, key))
		newestFirst = slices.Insert(newestFirst, 0, key)
	}
	s.Started(t, s.Start(t, "listed-3").By(s.Tiny.Tokens.Executor))
	s.Started(t, s.Start(t, "theirs").By(s.Tiny.Tokens.Executor))
	s.Exec(t, fixture.Unfinish, "listed-5")

	t.Run("PagesThereAndBack", func(t *testing.T) {
		t.Parallel()
		got := thereAndBack[api.Key](t, s, s.reading("/api/idempotency-keys/?page_size=3"), 3)
		if diff := cmp.Diff(newestFirst, keysOf(fixture.KeyPage{Results: got})); diff != "" {
			t.Errorf("keys (-want +got):\n%s", diff)
		}
	})

	for _, tt := range []struct {
		query string
		want  []string
	}{
		{"?key=listed-3", []string{"listed-3"}},
		{"?key=theirs", []string{}},
		{"?key=LISTED-3", []string{}},
		{"?state=abandoned", []string{"listed-5"}},
		{"?state=dead", []string{}},
		{"?state=finished&key=listed-5", []string{}},
		{"?endpoint=workflow_start&key=listed-2", []string{"listed-2"}},
		{"?endpoint=run_rerun", []string{}},
		{"?state=finished&page_size=1", []string{"listed-6"}},
	} {
		t.Run("Filters"+tt.query, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, keysOf(s.Keys(t, "/api/idempotency-keys/"+tt.query))); diff != "" {
				t.Errorf("keys (-want +got):\n%s", diff)
			}
		})
	}

	t.Run("RefusesWhatIsNoFilter", func(t *testing.T) {
		t.Parallel()
		for _, query := range []string{
			"state=done", "key=" + strings.Repeat("k", 256), "endpoint=" + strings.Repeat("e", 101), "page_size=0",
			"cursor=x", "key=%00",
		} {
			refused := s.reading("/api/idempotency-keys/?" + query)
			s.Refused(t, api.CodeInvalidParameter, refused)
		}
	})
}

func TestKeyStates(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for _, tt := range []struct {
		state, change string
	}{
		{"finished", `SELECT 1`},
		{"expired", `UPDATE idempotency_keys SET created_at = now() - interval '2 days', expires_at = now()
			WHERE key = 'expired'`},
		{"in_progress", `UPDATE idempotency_keys SET locked_until = now() + interval '1 hour'
			WHERE key = 'in_progress'`},
		{"abandoned", `SELECT 1`},
		{"dead", `UPDATE idempotency_keys SET attempts = 20 WHERE key = 'dead'`},
	} {
		t.Run(tt.state, func(t *testing.T) {
			t.Parallel()
			s.Started(t, s.Start(t, tt.state))
			if tt.state == "in_progress" || tt.state == "abandoned" || tt.state == "dead" {
				s.Exec(t, fixture.Unfinish, tt.state)
			}
			s.Exec(t, tt.change)
			if got := s.Entry(t, tt.state).State; string(got) != tt.state {
				t.Errorf("state = %s, want %s", got, tt.state)
			}
			page := s.Keys(t, "/api/idempotency-keys/?state="+tt.state)
			if !slices.Contains(keysOf(page), tt.state) {
				t.Errorf("keys in the state = %v, want %s", keysOf(page), tt.state)
			}
		})
	}
}

func TestKeyTimeline(t *testing.T) {
	t.Parallel()
	s := setup(t)
	run := s.Started(t, s.Start(t, "told").With("Request-Id", "the-first"))
	for range 3 {
		s.Must(t, http.StatusCreated, s.Start(t, "told"))
	}
	s.Refused(t, api.CodeKeyReused, s.Start(t, "told").WithBody("text/csv", "a\n1\n"))
	s.Flush(t)
	s.Exec(t, `UPDATE key_activity SET last_replay_at = now() + interval '1 minute',
		last_refusal_at = now() + interval '2 minutes'`)
	got := s.Entry(t, "told")
	want := []api.KeyEvent{
		{At: got.CreatedAt, Event: "received", Detail: "POST /api/workflows/meter-readings/start/, request the-first"},
		{At: got.CreatedAt, Event: "locked", Detail: "by this request"},
		{At: got.FinishedAt, Event: "finished", Detail: "response stored"},
		{Event: "replayed", Detail: "3 times; this was the last"},
		{Event: "refused", Detail: "once for another request"},
		{At: got.ExpiresAt, Event: "expires", Detail: "the key is forgotten"},
	}
	for i, event := range got.Timeline {
		if i > 0 && event.At.Before(got.Timeline[i-1].At.Time) {
			t.Errorf("%s at %s comes after %s", event.Event, event.At, got.Timeline[i-1].At)
		}
		if i < len(want) && want[i].At.IsZero() {
			got.Timeline[i].At = api.Time{}
		}
	}
	if diff := cmp.Diff(want, got.Timeline); diff != "" {
		t.Errorf("timeline (-want +got):\n%s", diff)
	}
	rest := api.Key{
		ID: got.ID, Key: "told", Endpoint: "workflow_start", State: "finished", RequestMethod: "POST",
		RequestPath: "/api/workflows/meter-readings/start/", RequestID: "the-first", Run: api.Optional(run.ID),
		ResponseStatus: 201, RecoveryPoint: "finished", CreatedAt: got.CreatedAt, FinishedAt: got.FinishedAt,
		ExpiresAt: got.ExpiresAt, Replays: 3, Mismatches: 1, Timeline: got.Timeline,
	}
	if diff := cmp.Diff(rest, got); diff != "" {
		t.Errorf("key (-want +got):\n%s", diff)
	}
	if life := got.ExpiresAt.Sub(got.CreatedAt.Time); life != 24*time.Hour {
		t.Errorf("the key lives for %s, want 24 hours", life)
	}
	if listed := s.Keys(t, "/api/idempotency-keys/").Results[0].Timeline; len(listed) != 0 {
		t.Errorf("timeline in the list = %v, want none", listed)
	}
}

func TestUnfinishedKeyTimeline(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.Abandoned(t, "left")
	s.Exec(t, `UPDATE idempotency_keys SET epoch = 3, locked_until = created_at + interval '1 minute'`)
	got := s.Entry(t, "left")
	if len(got.Timeline) > 3 {
		got.Timeline[3].At = api.Time{}
	}
	want := []api.KeyEvent{
		{
			At: got.CreatedAt, Event: "received",
			Detail: "POST /api/workflows/meter-readings/start/, request " + got.RequestID,
		},
		{At: got.CreatedAt, Event: "locked", Detail: "by this request"},
		{At: got.CreatedAt, Event: "phase", Detail: "reached run_reserved"},
		{Event: "taken_over", Detail: "from a request that had stopped at run_reserved"},
		{At: got.LockedUntil, Event: "locked_until", Detail: "at recovery point run_reserved"},
		{At: got.ExpiresAt, Event: "expires", Detail: "the key is forgotten"},
	}
	if diff := cmp.Diff(want, got.Timeline); diff != "" {
		t.Errorf("timeline (-want +got):\n%s", diff)
	}
	if got.Takeovers != 2 || got.Attempts != 3 || got.LastError != "billing is down" || got.ResponseStatus != 0 {
		t.Errorf("key = %+v, want 2 takeovers, 3 attempts, the last error and no status", got)
	}
}

func TestKeyActivity(t *testing.T) {
	t.Parallel()

	t.Run("IsWrittenByTheFlushAlone", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.Started(t, s.Start(t, "k"))
		before := s.versions(t)
		s.Must(t, http.StatusCreated, s.Start(t, "k"))
		s.Refused(t, api.CodeKeyReused, s.Start(t, "k").WithBody("text/csv", "a\n1\n"))
		if diff := cmp.Diff(before, s.versions(t)); diff != "" {
			t.Errorf("row versions (-before +after):\n%s", diff)
		}
		if n := coretest.One[int64](t, s.DB, `SELECT count(*) FROM key_activity`); n != 0 {
			t.Errorf("rows of activity before the flush = %d, want 0", n)
		}
		s.Flush(t)
		if diff := cmp.Diff(before, s.versions(t)); diff != "" {
			t.Errorf("row versions (-before +after the flush):\n%s", diff)
		}
		if n := coretest.One[int64](t, s.DB, `SELECT count(*) FROM key_activity`); n != 1 {
			t.Errorf("rows of activity after the flush = %d, want 1", n)
		}
	})
}
