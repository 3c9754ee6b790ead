package config_test

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
)

// keyBody is a key as clients read it. Members that it does not have fail the decoding.
type keyBody struct {
	ID             uuid.UUID  `json:"id"`
	Key            string     `json:"key"`
	Endpoint       string     `json:"endpoint"`
	State          string     `json:"state"`
	RequestMethod  string     `json:"request_method"`
	RequestPath    string     `json:"request_path"`
	RequestID      string     `json:"request_id"`
	Run            string     `json:"run"`
	ResponseStatus int        `json:"response_status"`
	RecoveryPoint  string     `json:"recovery_point"`
	CreatedAt      string     `json:"created_at"`
	FinishedAt     string     `json:"finished_at"`
	ExpiresAt      string     `json:"expires_at"`
	LockedUntil    string     `json:"locked_until"`
	Replays        int        `json:"replays"`
	Mismatches     int        `json:"mismatches"`
	Conflicts      int        `json:"conflicts"`
	Takeovers      int        `json:"takeovers"`
	Attempts       int        `json:"attempts"`
	LastError      string     `json:"last_error"`
	Timeline       []keyEvent `json:"timeline"`
}

type keyEvent struct {
	At     string `json:"at"`
	Event  string `json:"event"`
	Detail string `json:"detail"`
}

type keyPage = core.Page[keyBody]

// unfinish makes a finished key one whose request stopped before its charge, and whose lock is over.
const unfinish = `UPDATE idempotency_keys SET recovery_point = 'run_reserved', response_status = NULL,
	response_headers = NULL, response_body = NULL, finished_at = NULL, locked_until = now() - interval '1 second',
	attempts = 3, retry_at = now() + interval '1 hour', last_error = 'billing is down' WHERE key = $1`

// abandoned makes a key of harbour's whose request has reserved its run and then stopped.
func (s *stage) abandoned(tb testing.TB, key string) keyBody {
	tb.Helper()
	s.started(tb, s.start(tb, key))
	s.exec(tb, unfinish, key)
	return s.entry(tb, key)
}

// keys reads one page of keys as harbour's viewer.
func (s *stage) keys(tb testing.TB, path string) keyPage {
	tb.Helper()
	return decoded[keyPage](tb, s.must(tb, http.StatusOK, call{path: path, token: s.Harbour.Tokens.Viewer}))
}

// entry reads harbour's only use of a key, with its timeline.
func (s *stage) entry(tb testing.TB, key string) keyBody {
	tb.Helper()
	page := s.keys(tb, "/api/idempotency-keys/?key="+key)
	if len(page.Results) != 1 {
		tb.Fatalf("keys %s = %d, want 1", key, len(page.Results))
	}
	return s.entryOf(tb, page.Results[0].ID)
}

func (s *stage) entryOf(tb testing.TB, id uuid.UUID) keyBody {
	tb.Helper()
	read := call{path: "/api/idempotency-keys/" + id.String() + "/", token: s.Harbour.Tokens.Viewer}
	return decoded[keyBody](tb, s.must(tb, http.StatusOK, read))
}

// release is harbour's owner's request to free a key.
func (s *stage) release(id uuid.UUID) call {
	c := call{
		method: http.MethodPost, path: "/api/idempotency-keys/" + id.String() + "/release/",
		token: s.Harbour.Tokens.Owner,
	}
	return c.withBody("application/json", `{"reason":"billing is back"}`)
}

func (s *stage) flush(tb testing.TB) {
	tb.Helper()
	if n, err := s.Activity.Flush(tb.Context(), s.db); n != 0 || err != nil {
		tb.Fatalf("flush = %d, %v, want 0 and no error", n, err)
	}
}

func keysOf(page keyPage) []string {
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
		s.started(t, s.start(t, key))
		newestFirst = slices.Insert(newestFirst, 0, key)
	}
	s.started(t, s.start(t, "listed-3").by(s.Tiny.Tokens.Executor))
	s.started(t, s.start(t, "theirs").by(s.Tiny.Tokens.Executor))
	s.exec(t, unfinish, "listed-5")

	t.Run("PagesThereAndBack", func(t *testing.T) {
		t.Parallel()
		first := s.keys(t, "/api/idempotency-keys/?page_size=3")
		second := s.keys(t, string(first.Next))
		third := s.keys(t, string(second.Next))
		got := slices.Concat(keysOf(first), keysOf(second), keysOf(third))
		if diff := cmp.Diff(newestFirst, got); diff != "" || first.Previous != "" || third.Next != "" {
			t.Errorf("pages end at %q and %q, want neither; keys (-want +got):\n%s", first.Previous, third.Next, diff)
		}
		if diff := cmp.Diff(second.Results, s.keys(t, string(third.Previous)).Results); diff != "" {
			t.Errorf("second page (-there +back):\n%s", diff)
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
			if diff := cmp.Diff(tt.want, keysOf(s.keys(t, "/api/idempotency-keys/"+tt.query))); diff != "" {
				t.Errorf("keys (-want +got):\n%s", diff)
			}
		})
	}

	t.Run("KeepsItsFiltersFromPageToPage", func(t *testing.T) {
		t.Parallel()
		first := s.keys(t, "/api/idempotency-keys/?state=finished&page_size=1")
		if got := keysOf(s.keys(t, string(first.Next))); !slices.Equal(got, []string{"listed-4"}) {
			t.Errorf("second finished key = %v, want listed-4: listed-5 is abandoned", got)
		}
	})

	t.Run("RefusesWhatIsNoFilter", func(t *testing.T) {
		t.Parallel()
		for _, query := range []string{
			"state=done", "key=" + strings.Repeat("k", 256), "endpoint=" + strings.Repeat("e", 101), "page_size=0",
			"cursor=x", "key=%00",
		} {
			refused := call{path: "/api/idempotency-keys/?" + query, token: s.Harbour.Tokens.Viewer}
			s.refused(t, core.CodeInvalidParameter, refused)
		}
	})
}

func TestKeysOfOthersAreAsGoodAsAbsent(t *testing.T) {
	t.Parallel()
	s := setup(t)
	key := "/api/idempotency-keys/" + s.abandoned(t, "ours").ID.String() + "/"
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			ask := func(path string) answer {
				c := s.release(uuid.Nil).by(s.Tiny.Tokens.Owner).with("Request-Id", "same")
				c.method, c.path = method, path
				if method == http.MethodPost {
					c.path += "release/"
				}
				return s.must(t, http.StatusNotFound, c)
			}
			want := string(ask("/api/idempotency-keys/" + unknownID + "/").body)
			for _, path := range []string{key, "/api/idempotency-keys/nonsense/"} {
				if diff := cmp.Diff(want, string(ask(path).body)); diff != "" {
					t.Errorf("%s (-unknown +asked):\n%s", path, diff)
				}
			}
		})
	}
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
			s.started(t, s.start(t, tt.state))
			if tt.state == "in_progress" || tt.state == "abandoned" || tt.state == "dead" {
				s.exec(t, unfinish, tt.state)
			}
			s.exec(t, tt.change)
			if got := s.entry(t, tt.state).State; got != tt.state {
				t.Errorf("state = %s, want %s", got, tt.state)
			}
			page := s.keys(t, "/api/idempotency-keys/?state="+tt.state)
			if !slices.Contains(keysOf(page), tt.state) {
				t.Errorf("keys in the state = %v, want %s", keysOf(page), tt.state)
			}
		})
	}
}

func TestKeyTimeline(t *testing.T) {
	t.Parallel()
	s := setup(t)
	run := s.started(t, s.start(t, "told").with("Request-Id", "the-first"))
	for range 3 {
		s.must(t, http.StatusCreated, s.start(t, "told"))
	}
	s.refused(t, core.CodeKeyReused, s.start(t, "told").withBody("text/csv", "a\n1\n"))
	s.flush(t)
	s.exec(t, `UPDATE key_activity SET last_replay_at = now() + interval '1 minute',
		last_refusal_at = now() + interval '2 minutes'`)
	got := s.entry(t, "told")
	want := []keyEvent{
		{got.CreatedAt, "received", "POST /api/workflows/meter-readings/start/, request the-first"},
		{got.CreatedAt, "locked", "by this request"},
		{got.FinishedAt, "finished", "response stored"},
		{"", "replayed", "3 times; this was the last"},
		{"", "refused", "once for another request"},
		{got.ExpiresAt, "expires", "the key is forgotten"},
	}
	for i, event := range got.Timeline {
		if i > 0 && event.At < got.Timeline[i-1].At {
			t.Errorf("%s at %s comes after %s", event.Event, event.At, got.Timeline[i-1].At)
		}
		if i < len(want) && want[i].At == "" {
			got.Timeline[i].At = ""
		}
	}
	if diff := cmp.Diff(want, got.Timeline); diff != "" {
		t.Errorf("timeline (-want +got):\n%s", diff)
	}
	rest := keyBody{
		ID: got.ID, Key: "told", Endpoint: "workflow_start", State: "finished", RequestMethod: "POST",
		RequestPath: "/api/workflows/meter-readings/start/", RequestID: "the-first", Run: run.ID.String(),
		ResponseStatus: 201, RecoveryPoint: "finished", CreatedAt: got.CreatedAt, FinishedAt: got.FinishedAt,
		ExpiresAt: got.ExpiresAt, Replays: 3, Mismatches: 1, Timeline: got.Timeline,
	}
	if diff := cmp.Diff(rest, got); diff != "" {
		t.Errorf("key (-want +got):\n%s", diff)
	}
	if listed := s.keys(t, "/api/idempotency-keys/").Results[0].Timeline; len(listed) != 0 {
		t.Errorf("timeline in the list = %v, want none", listed)
	}
}

func TestUnfinishedKeyTimeline(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.abandoned(t, "left")
	s.exec(t, `UPDATE idempotency_keys SET epoch = 3, locked_until = created_at + interval '1 minute'`)
	got := s.entry(t, "left")
	if len(got.Timeline) > 3 {
		got.Timeline[3].At = ""
	}
	want := []keyEvent{
		{got.CreatedAt, "received", "POST /api/workflows/meter-readings/start/, request " + got.RequestID},
		{got.CreatedAt, "locked", "by this request"},
		{got.CreatedAt, "phase", "reached run_reserved"},
		{"", "taken_over", "from a request that had stopped at run_reserved"},
		{got.LockedUntil, "locked_until", "at recovery point run_reserved"},
		{got.ExpiresAt, "expires", "the key is forgotten"},
	}
	if diff := cmp.Diff(want, got.Timeline); diff != "" {
		t.Errorf("timeline (-want +got):\n%s", diff)
	}
	if got.Takeovers != 2 || got.Attempts != 3 || got.LastError != "billing is down" || got.ResponseStatus != 0 {
		t.Errorf("key = %+v, want 2 takeovers, 3 attempts, the last error and no status", got)
	}
}

func TestKeysShowNoSecrets(t *testing.T) {
	t.Parallel()
	s := setup(t)
	const content = "meter_id\nUNMISTAKABLE-CONTENT\n"
	s.started(t, s.start(t, "secret").withBody("text/csv", content))
	digests := one[[]string](t, s, `SELECT ARRAY[encode(request_hash, 'hex'), encode(target_digest, 'hex'),
		encode(content_digest, 'hex'), encode(options_digest, 'hex'), encode(request_hash, 'base64'),
		encode(content_digest, 'base64')] FROM idempotency_keys`)
	secrets := slices.Concat(digests,
		[]string{"UNMISTAKABLE", s.Harbour.Tokens.Executor, "PENDING", "user_agent", "127.0.0.1"})
	id := s.entry(t, "secret").ID
	for _, path := range []string{"/api/idempotency-keys/", "/api/idempotency-keys/" + id.String() + "/"} {
		got := s.must(t, http.StatusOK, call{path: path, token: s.Harbour.Tokens.Owner})
		for _, secret := range secrets {
			if bytes.Contains(got.body, []byte(secret)) {
				t.Errorf("%s shows %q: %s", path, secret, got.body)
			}
		}
	}
}

func TestKeyActivity(t *testing.T) {
	t.Parallel()

	t.Run("IsWrittenByTheFlushAlone", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.started(t, s.start(t, "k"))
		before := s.versions(t)
		s.must(t, http.StatusCreated, s.start(t, "k"))
		s.refused(t, core.CodeKeyReused, s.start(t, "k").withBody("text/csv", "a\n1\n"))
		if diff := cmp.Diff(before, s.versions(t)); diff != "" {
			t.Errorf("row versions (-before +after):\n%s", diff)
		}
		if n := one[int64](t, s, `SELECT count(*) FROM key_activity`); n != 0 {
			t.Errorf("rows of activity before the flush = %d, want 0", n)
		}
		s.flush(t)
		if diff := cmp.Diff(before, s.versions(t)); diff != "" {
			t.Errorf("row versions (-before +after the flush):\n%s", diff)
		}
		if n := one[int64](t, s, `SELECT count(*) FROM key_activity`); n != 1 {
			t.Errorf("rows of activity after the flush = %d, want 1", n)
		}
	})

	t.Run("AddsUpOverFlushes", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.started(t, s.start(t, "k"))
		for range 2 {
			s.must(t, http.StatusCreated, s.start(t, "k"))
			s.refused(t, core.CodeKeyReused, s.start(t, "k").withBody("text/csv", "a\n1\n"))
			s.flush(t)
		}
		s.exec(t, unfinish, "k")
		s.exec(t, `UPDATE idempotency_keys SET locked_until = now() + interval '1 hour'`)
		s.refused(t, core.CodeKeyInProgress, s.start(t, "k"))
		s.flush(t)
		got := s.entry(t, "k")
		if got.Replays != 2 || got.Mismatches != 2 || got.Conflicts != 1 {
			t.Errorf("counts = %d, %d, %d, want 2 replays, 2 mismatches, 1 conflict",
				got.Replays, got.Mismatches, got.Conflicts)
		}
	})
}
