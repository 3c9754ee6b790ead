package api

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
)

func TestKeyRelease(t *testing.T) {
	t.Parallel()

	t.Run("HandsAKeyWithARunToTheCompleter", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		entry := s.Abandoned(t, "stuck")
		s.Exec(t, `UPDATE idempotency_keys SET attempts = 20`)
		got := s.Must(t, http.StatusNoContent, s.release(entry.ID).With("Request-Id", "released-by"))
		if len(got.Body) != 0 {
			t.Errorf("body = %s, want none", got.Body)
		}
		coretest.WantRow(t, s.DB, coretest.Row{
			"attempts": "0", "retry_at": "NULL", "has_run": "t", "recovery_point": "run_reserved",
		}, `SELECT attempts, retry_at, validation_run_id IS NOT NULL AS has_run, recovery_point FROM idempotency_keys`)
		owner := coretest.One[uuid.UUID](t, s.DB, `SELECT id FROM users WHERE email = 'owner@harbour-energy.example'`)
		audited := coretest.One[string](t, s.DB,
			`SELECT concat_ws(' ', actor_id, token_id IS NOT NULL, target_type, target_id,
			request_id, detail) FROM audit_records WHERE action = 'idempotency_key.release'`)
		want := owner.String() + " t idempotency_key " + entry.ID + " released-by billing is back"
		if audited != want {
			t.Errorf("audit record = %s, want %s", audited, want)
		}
	})

	t.Run("DeletesAKeyWithoutARun", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		entry := s.Abandoned(t, "stuck")
		first := entry.Run
		s.Exec(t, `UPDATE idempotency_keys SET validation_run_id = NULL`)
		s.Refused(t, api.CodeUnavailable, s.Start(t, "stuck"))
		s.Must(t, http.StatusNoContent, s.release(entry.ID))
		s.Refused(t, api.CodeNotFound, s.release(entry.ID))
		again := s.Must(t, http.StatusCreated, s.Start(t, "stuck"))
		fixture.WantHeader(t, again, map[string]string{"Idempotent-Replayed": ""})
		if renewed := s.Entry(t, "stuck"); renewed.Run == first || renewed.ID == entry.ID {
			t.Errorf("key = %s with run %s, want new ones", renewed.ID, renewed.Run)
		}
	})

	for name, change := range map[string]string{
		"LeavesAFinishedKey": `SELECT 1`,
		"LeavesAHeldKey": strings.Replace(strings.Replace(fixture.Unfinish, "now() - interval '1 second'",
			"now() + interval '1 hour'", 1), "$1", "'kept'", 1),
		"LeavesAnExpiredKey": `UPDATE idempotency_keys SET created_at = now() - interval '2 days', expires_at = now()`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := setup(t)
			s.Started(t, s.Start(t, "kept"))
			s.Exec(t, change)
			before := s.key(t, "kept")
			s.Refused(t, api.CodeKeyNotReleasable, s.release(s.Entry(t, "kept").ID))
			if diff := cmp.Diff(before, s.key(t, "kept")); diff != "" {
				t.Errorf("key (-before +after):\n%s", diff)
			}
			if n := coretest.One[int64](t, s.DB,
				`SELECT count(*) FROM audit_records WHERE action LIKE '%release'`); n != 0 {
				t.Errorf("audit records of the refused release = %d, want 0", n)
			}
		})
	}
}

func TestKeyReleaseNeedsAReason(t *testing.T) {
	t.Parallel()
	s := setup(t)
	good := s.release(s.Abandoned(t, "stuck").ID)
	admin, _ := s.AddToken(t, s.Harbour, api.RoleOwner, api.RoleAdmin)
	before := s.versions(t)
	for body, want := range map[string]api.FieldError{
		`{}`:            {Pointer: "/reason", Code: "required", Detail: "must be given"},
		`{"reason":""}`: {Pointer: "/reason", Code: "required", Detail: "must be given"},
		`{"reason":"` + strings.Repeat("r", 501) + `"}`: {
			Pointer: "/reason", Code: "max", Detail: "must have at most 500 characters",
		},
		`{"reason":"a\u0000b"}`: {
			Pointer: "/reason", Code: "excludesrune", Detail: `must not have the character "\x00"`,
		},
	} {
		problem := fixture.WantProblem(t, s.Do(t, good.WithBody("application/json", body)), api.CodeInvalidPayload)
		if diff := cmp.Diff([]api.FieldError{want}, problem.Errors); diff != "" {
			t.Errorf("%.40s: errors (-want +got):\n%s", body, diff)
		}
	}
	after := s.versions(t)
	for _, table := range []string{"idempotency_keys", "audit_records"} {
		if before[table] != after[table] {
			t.Errorf("%s was written by a refused release", table)
		}
	}
	s.Must(t, http.StatusNoContent, good.By(admin))
}

// TestReleasesAtOnce holds that a key is freed and audited once where it is deleted.
func TestReleasesAtOnce(t *testing.T) {
	t.Parallel()
	s := setup(t)
	entry := s.Abandoned(t, "stuck")
	s.Exec(t, `UPDATE idempotency_keys SET validation_run_id = NULL`)
	calls := make([]call, 8)
	for i := range calls {
		calls[i] = s.release(entry.ID)
	}
	want := map[int]int{http.StatusNoContent: 1, http.StatusNotFound: 7}
	if diff := cmp.Diff(want, s.AtOnce(t, calls)); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	if n := coretest.One[int64](t, s.DB,
		`SELECT count(*) FROM audit_records WHERE action = 'idempotency_key.release'`); n != 1 {
		t.Errorf("audit records = %d, want 1", n)
	}
}
