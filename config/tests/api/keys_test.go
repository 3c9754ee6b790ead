package api

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/users"
)

// keyed has a good request without a key for every operation that takes one, by its name in keys.
func (s *stage) keyed(tb testing.TB, slug string) map[string]call {
	tb.Helper()
	run := s.Started(tb, s.Start(tb, "seed-of-"+slug))
	return map[string]call{
		"workflow_create":  s.creation("", slug),
		"workflow_version": s.versionOf("", "/api/workflows/building/"),
		"workflow_start":   s.Start(tb, ""),
		"run_rerun":        s.Rerun("", run.ID),
	}
}

func TestOrganizationsDoNotShareKeys(t *testing.T) {
	t.Parallel()
	s := setup(t)
	theirs := s.Started(t, s.Start(t, "").By(s.Tiny.Tokens.Executor))
	for endpoint, c := range s.keyed(t, "ours") {
		ours := s.Must(t, http.StatusCreated, c.With("Idempotency-Key", "shared"))
		c = c.By(s.Tiny.Tokens.Owner)
		if endpoint == "run_rerun" {
			c = c.To(s.Rerun("", theirs.ID).Path)
		}
		other := s.Must(t, http.StatusCreated, c.With("Idempotency-Key", "shared"))
		fixture.WantHeader(t, other, map[string]string{"Idempotent-Replayed": "", "Original-Request-Id": ""})
		if other.Header.Get("Location") == ours.Header.Get("Location") {
			t.Errorf("%s: two organizations got one object for one key", endpoint)
		}
	}
}

func TestKeysCanBeRequired(t *testing.T) {
	t.Parallel()
	s := setup(t)
	calls := s.keyed(t, "required")
	s.setKeyPolicy(t, s.Harbour.ID, users.KeyPolicy{Required: true})
	for endpoint, c := range calls {
		t.Run(endpoint, func(t *testing.T) {
			t.Parallel()
			problem := fixture.WantProblem(t, s.Do(t, c), core.CodeKeyRequired)
			want := []core.FieldError{{Parameter: "Idempotency-Key", Code: "required", Detail: "must be given"}}
			if diff := cmp.Diff(want, problem.Errors); diff != "" || problem.Retryable {
				t.Errorf("problem = %+v, want one that is not retryable and errors (-want +got):\n%s", problem, diff)
			}
			got := s.Do(t, c.With("X-Idempotency-Key", "k"))
			problem = fixture.WantProblem(t, got, core.CodeKeyRequired)
			if !strings.Contains(problem.Detail, "X-Idempotency-Key, which is not recognized") {
				t.Errorf("detail = %q, want the name that is not understood", problem.Detail)
			}
			s.Refused(t, core.CodeKeyInvalid, c.With("Idempotency-Key", ""))
			s.Refused(t, core.CodeNotAuthenticated, c.By(""))
			s.Must(t, http.StatusCreated, c.With("Idempotency-Key", endpoint))
		})
	}

	t.Run("LeavesTheRestAlone", func(t *testing.T) {
		t.Parallel()
		s.Must(t, http.StatusOK, call{Path: "/api/runs/", Token: s.Harbour.Tokens.Viewer})
		s.Must(t, http.StatusCreated, s.Start(t, "").By(s.Tiny.Tokens.Executor))
	})
}

func TestMisnamedKeysAreNoticed(t *testing.T) {
	t.Parallel()
	s := setup(t)
	calls := s.keyed(t, "misnamed")

	t.Run("OnEveryOperation", func(t *testing.T) {
		t.Parallel()
		for _, c := range calls {
			got := s.Must(t, http.StatusCreated, c.With("X-Idempotency-Key", "k"))
			fixture.WantHeader(t, got, map[string]string{
				"Idempotency-Warning": "X-Idempotency-Key is not recognized; send Idempotency-Key",
				"Idempotency-Key":     "", "Idempotency-Expires": "",
			})
		}
	})

	t.Run("AlsoInARefusal", func(t *testing.T) {
		t.Parallel()
		got := s.Do(t, s.Start(t, "").WithBody("text/csv", "").With("Idempotence-Key", "k"))
		fixture.WantProblem(t, got, core.CodeInvalidPayload)
		fixture.WantHeader(t, got, map[string]string{
			"Idempotency-Warning": "Idempotence-Key is not recognized; send Idempotency-Key",
		})
	})
}

func TestWellNamedKeysGetNoWarning(t *testing.T) {
	t.Parallel()
	s := setup(t)

	t.Run("AndNeitherDoesNone", func(t *testing.T) {
		t.Parallel()
		got := s.Must(t, http.StatusCreated, s.Start(t, ""))
		fixture.WantHeader(t, got, map[string]string{"Idempotency-Warning": ""})
	})
}

func TestKeysLiveAsTheOrganizationWants(t *testing.T) {
	t.Parallel()
	s := setup(t)
	first := s.Must(t, http.StatusCreated, s.Start(t, "before"))
	calls := s.keyed(t, "lifetime")
	s.setKeyPolicy(t, s.Harbour.ID, users.KeyPolicy{Lifetime: 90 * time.Minute})
	fixture.WantReplay(t, first, s.Do(t, s.Start(t, "before")))
	for endpoint, c := range calls {
		c = c.With("Idempotency-Key", "after")
		from := time.Now()
		got := s.Must(t, http.StatusCreated, c)
		line := got.Header.Get("Idempotency-Expires")
		expires, err := http.ParseTime(line)
		if err != nil || expires.Before(from.Add(90*time.Minute-2*time.Second)) ||
			expires.After(time.Now().Add(90*time.Minute+time.Second)) {
			t.Errorf("%s: Idempotency-Expires = %q, want a date in 90 minutes", endpoint, line)
		}
		fixture.WantReplay(t, got, s.Do(t, c))
	}
	theirs := s.Must(t, http.StatusCreated, s.Start(t, "after").By(s.Tiny.Tokens.Executor))
	wantMinutes := func(key string, want int) {
		t.Helper()
		if got := coretest.One[int](t, s.DB, `SELECT max(extract(epoch FROM expires_at - created_at) / 60)::int
			FROM idempotency_keys WHERE key = $1 AND org_id = $2`, key, s.Harbour.ID); got != want {
			t.Errorf("key %s lives for %d minutes, want %d", key, got, want)
		}
	}
	wantMinutes("before", 24*60)
	wantMinutes("after", 90)
	if expires, err := http.ParseTime(theirs.Header.Get("Idempotency-Expires")); err != nil ||
		expires.Before(time.Now().Add(23*time.Hour)) {
		t.Errorf("another organization's key ends at %v, want in 24 hours", expires)
	}
	s.setKeyPolicy(t, s.Harbour.ID, users.KeyPolicy{})
	s.Must(t, http.StatusCreated, s.Start(t, "default"))
	wantMinutes("default", 24*60)
}

func TestKeyPolicyIsBounded(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for _, lifetime := range []time.Duration{
		-time.Hour, time.Nanosecond, time.Minute - time.Millisecond, 30*24*time.Hour + time.Second, 1 << 62,
	} {
		err := s.Users.SetKeyPolicy(t.Context(), s.Harbour.ID, users.KeyPolicy{Lifetime: lifetime})
		if !core.HasCode(err, core.CodeInvalidPayload) {
			t.Errorf("SetKeyPolicy with %v = %v, want %s", lifetime, err, core.CodeInvalidPayload)
		}
	}
	audited := `SELECT count(*) FROM audit_records WHERE action = 'organization.set_keys' AND org_id = $1`
	if n := coretest.One[int64](t, s.DB, audited, s.Harbour.ID); n != 0 {
		t.Errorf("audited changes = %d after refusals, want 0", n)
	}
	for _, lifetime := range []time.Duration{time.Minute, 30 * 24 * time.Hour} {
		s.setKeyPolicy(t, s.Harbour.ID, users.KeyPolicy{Lifetime: lifetime})
		s.Must(t, http.StatusCreated, s.Start(t, lifetime.String()))
		if got := coretest.One[time.Duration](t, s.DB, `SELECT expires_at - created_at FROM idempotency_keys
			WHERE key = $1`, lifetime.String()); got != lifetime {
			t.Errorf("the key lives for %v, want %v", got, lifetime)
		}
	}
	if n := coretest.One[int64](t, s.DB, audited, s.Harbour.ID); n != 2 {
		t.Errorf("audited changes = %d, want 2", n)
	}
}

func (s *stage) setKeyPolicy(tb testing.TB, orgID uuid.UUID, policy users.KeyPolicy) {
	tb.Helper()
	if err := s.Users.SetKeyPolicy(tb.Context(), orgID, policy); err != nil {
		tb.Fatalf("set key policy: %v", err)
	}
}
