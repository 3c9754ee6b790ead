package config_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
)

func TestKeyRelease(t *testing.T) {
	t.Parallel()

	t.Run("HandsAKeyWithARunToTheCompleter", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		entry := s.abandoned(t, "stuck")
		s.exec(t, `UPDATE idempotency_keys SET attempts = 20`)
		got := s.must(t, http.StatusNoContent, s.release(entry.ID).with("Request-Id", "released-by"))
		if len(got.body) != 0 {
			t.Errorf("body = %s, want none", got.body)
		}
		if !one[bool](t, s, `SELECT attempts = 0 AND retry_at IS NULL AND validation_run_id IS NOT NULL
			AND recovery_point = 'run_reserved' FROM idempotency_keys`) {
			t.Error("the key is not as it was but for its attempts")
		}
		owner := one[uuid.UUID](t, s, `SELECT id FROM users WHERE email = 'owner@harbour-energy.example'`)
		audited := one[string](t, s, `SELECT concat_ws(' ', actor_id, token_id IS NOT NULL, target_type, target_id,
			request_id, detail) FROM audit_records WHERE action = 'idempotency_key.release'`)
		want := owner.String() + " t idempotency_key " + entry.ID.String() + " released-by billing is back"
		if audited != want {
			t.Errorf("audit record = %s, want %s", audited, want)
		}
	})

	t.Run("DeletesAKeyWithoutARun", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		entry := s.abandoned(t, "stuck")
		first := entry.Run
		s.exec(t, `UPDATE idempotency_keys SET validation_run_id = NULL`)
		s.refused(t, core.CodeUnavailable, s.start(t, "stuck"))
		s.must(t, http.StatusNoContent, s.release(entry.ID))
		s.refused(t, core.CodeNotFound, s.release(entry.ID))
		again := s.must(t, http.StatusCreated, s.start(t, "stuck"))
		wantHeader(t, again, map[string]string{"Idempotent-Replayed": ""})
		if renewed := s.entry(t, "stuck"); renewed.Run == first || renewed.ID == entry.ID {
			t.Errorf("key = %s with run %s, want new ones", renewed.ID, renewed.Run)
		}
	})

	for name, change := range map[string]string{
		"LeavesAFinishedKey": `SELECT 1`,
		"LeavesAHeldKey": strings.Replace(strings.Replace(unfinish, "now() - interval '1 second'",
			"now() + interval '1 hour'", 1), "$1", "'kept'", 1),
		"LeavesAnExpiredKey": `UPDATE idempotency_keys SET created_at = now() - interval '2 days', expires_at = now()`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := setup(t)
			s.started(t, s.start(t, "kept"))
			s.exec(t, change)
			before := s.key(t, "kept")
			s.refused(t, core.CodeKeyNotReleasable, s.release(s.entry(t, "kept").ID))
			if diff := cmp.Diff(before, s.key(t, "kept")); diff != "" {
				t.Errorf("key (-before +after):\n%s", diff)
			}
			if n := one[int64](t, s, `SELECT count(*) FROM audit_records WHERE action LIKE '%release'`); n != 0 {
				t.Errorf("audit records of the refused release = %d, want 0", n)
			}
		})
	}
}

func TestKeyReleaseNeedsAnAdministratorAndAReason(t *testing.T) {
	t.Parallel()
	s := setup(t)
	good := s.release(s.abandoned(t, "stuck").ID)
	author, _ := s.addToken(t, s.Harbour, core.RoleOwner, core.RoleAuthor)
	admin, _ := s.addToken(t, s.Harbour, core.RoleOwner, core.RoleAdmin)
	before := s.versions(t)
	for _, token := range []string{s.Harbour.Tokens.Viewer, s.Harbour.Tokens.Executor, author} {
		s.refused(t, core.CodePermissionDenied, good.by(token))
	}
	for body, want := range map[string]core.FieldError{
		`{}`:            {Pointer: "/reason", Code: "required", Detail: "must be given"},
		`{"reason":""}`: {Pointer: "/reason", Code: "required", Detail: "must be given"},
		`{"reason":"` + strings.Repeat("r", 501) + `"}`: {
			Pointer: "/reason", Code: "max", Detail: "must be at most 500",
		},
		`{"reason":"a\u0000b"}`: {
			Pointer: "/reason", Code: "excludesrune", Detail: `must not have the character "\x00"`,
		},
		`{"reason":"a","force":true}`: {Pointer: "/force", Code: "invalid", Detail: "is not a known member"},
	} {
		problem := wantProblem(t, s.do(t, good.withBody("application/json", body)), core.CodeInvalidPayload)
		if diff := cmp.Diff([]core.FieldError{want}, problem.Errors); diff != "" {
			t.Errorf("%.40s: errors (-want +got):\n%s", body, diff)
		}
	}
	s.refused(t, core.CodeUnsupportedMediaType, good.withBody("text/plain", "why"))
	after := s.versions(t)
	for _, table := range []string{"idempotency_keys", "audit_records"} {
		if before[table] != after[table] {
			t.Errorf("%s was written by a refused release", table)
		}
	}
	s.must(t, http.StatusNoContent, good.by(admin))
}

// TestReleasesAtOnce holds that a key is freed and audited once where it is deleted.
func TestReleasesAtOnce(t *testing.T) {
	t.Parallel()
	s := setup(t)
	entry := s.abandoned(t, "stuck")
	s.exec(t, `UPDATE idempotency_keys SET validation_run_id = NULL`)
	calls := make([]call, 8)
	for i := range calls {
		calls[i] = s.release(entry.ID)
	}
	want := map[int]int{http.StatusNoContent: 1, http.StatusNotFound: 7}
	if diff := cmp.Diff(want, s.atOnce(t, calls)); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	if n := one[int64](t, s, `SELECT count(*) FROM audit_records WHERE action = 'idempotency_key.release'`); n != 1 {
		t.Errorf("audit records = %d, want 1", n)
	}
}

func TestTimesOfKeysAreTheDatabases(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.started(t, s.start(t, "k"))
	got := s.entry(t, "k")
	created, createdErr := time.Parse(time.RFC3339, got.CreatedAt)
	expires, expiresErr := time.Parse(time.RFC3339, got.ExpiresAt)
	if createdErr != nil || expiresErr != nil || expires.Sub(created) != 24*time.Hour {
		t.Errorf("times = %s and %s, want 24 hours between them", got.CreatedAt, got.ExpiresAt)
	}
}
