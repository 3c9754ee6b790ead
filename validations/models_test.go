package validations

import (
	"crypto/sha256"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/db"
)

func TestRunsAreGuardedByTheDatabase(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	done := b.start(t)
	b.fail(t, done)
	pending := b.start(t)
	b.exec(t, `UPDATE validation_runs SET epoch = 2, recovery_point = 1 WHERE id = $1`, pending)
	b.exec(t, `UPDATE validation_runs SET idempotency_key_id = gen_random_uuid() WHERE id = $1`, done)
	for _, tt := range []struct {
		name, statement, constraint string
		completed                   bool
	}{
		{
			"ResultIsFinal", `UPDATE validation_runs SET result = 'PASS' WHERE id = $1`, "tr_validation_runs_progress",
			true,
		},
		{
			"StateIsFinal", `UPDATE validation_runs SET state = 'RUNNING', result = 'UNKNOWN', ended_at = NULL,
				sweep_after = now() WHERE id = $1`, "tr_validation_runs_progress", true,
		},
		{
			"CompletedRunsAreNotSwept", `UPDATE validation_runs SET sweep_after = now() WHERE id = $1`,
			"ck_validation_runs_completed", true,
		},
		{
			"EpochsOnlyGrow", `UPDATE validation_runs SET epoch = 1 WHERE id = $1`, "tr_validation_runs_progress",
			false,
		},
		{
			"RecoveryPointsOnlyGrow", `UPDATE validation_runs SET recovery_point = 0 WHERE id = $1`,
			"tr_validation_runs_progress", false,
		},
		{
			"OnlyRunningRunsAreLeased", `UPDATE validation_runs SET lease_until = now() WHERE id = $1`,
			"ck_validation_runs_lease", false,
		},
		{
			"AResultNeedsAnEnd", `UPDATE validation_runs SET result = 'PASS' WHERE id = $1`,
			"ck_validation_runs_completed", false,
		},
		{
			"EveryPendingRunIsSwept", `UPDATE validation_runs SET sweep_after = NULL WHERE id = $1`,
			"ck_validation_runs_completed", false,
		},
		{
			"AUseOfAKeyHasOneRun", `UPDATE validation_runs SET idempotency_key_id = (SELECT idempotency_key_id
				FROM validation_runs WHERE state = 'COMPLETED') WHERE id = $1`, "uq_validation_runs_key", false,
		},
		{"StatesAreKnown", `UPDATE validation_runs SET state = 'X' WHERE id = $1`, "ck_validation_runs_state", false},
		{
			"SubmissionsOfRunsStay", `DELETE FROM submissions WHERE id = (SELECT submission_id FROM validation_runs
				WHERE id = $1)`, "fk_validation_runs_submission", false,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			id := pending
			if tt.completed {
				id = done
			}
			_, err := b.db.Pool.Exec(t.Context(), tt.statement, id)
			if got := db.ViolatedConstraint(err); got != tt.constraint {
				t.Errorf("error = %v, want a violation of %s", err, tt.constraint)
			}
		})
	}
}

func TestDefinitionsAreStoredOnceAndNeverChange(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	definition := Definition{
		Accepts: []string{"text/csv"},
		Steps:   []Step{{ID: "a", Name: "A", Config: []byte(`{"x":1}`)}},
	}
	first := b.publish(t, definition)
	second := b.publish(t, definition)
	body, digest, err := definition.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if first.Digest != second.Digest || first.Digest != digest || digest != sha256.Sum256(body) {
		t.Errorf("digests = %x, %x, want the SHA-256 of the bytes, %x", first.Digest, second.Digest, digest)
	}
	if n := coretest.One[int64](t, b.db, `SELECT count(*) FROM definitions`); n != 1 {
		t.Errorf("definitions = %d, want 1", n)
	}
	for _, statement := range []string{
		`UPDATE definitions SET body = 'x'`, `UPDATE definitions SET created_at = now()`, `DELETE FROM definitions`,
	} {
		if _, err := b.db.Pool.Exec(t.Context(), statement); err == nil {
			t.Errorf("%s succeeded, want it refused", statement)
		}
	}
	read, err := b.service.Definition(t.Context(), b.orgID, digest)
	if err != nil || len(read.Steps) != 1 || string(read.Steps[0].Config) != `{"x":1}` {
		t.Errorf("Definition = %+v, %v, want what was stored", read, err)
	}
	if _, err := b.service.Definition(t.Context(), b.orgID, Digest{}); err == nil {
		t.Error("a definition that is not there was found")
	}
}

func TestDefinitionTakes(t *testing.T) {
	t.Parallel()
	definition := Definition{Accepts: []string{"text/csv", "application/json"}}
	for mediaType, want := range map[string]bool{
		"text/csv": true, "text/csv; charset=latin1": true, "TEXT/CSV": true, "application/json": true,
		"text/csvx": false, "text": false, "": false, "application/xml": false, "text/csv;;;": true,
	} {
		if got := definition.Takes(mediaType); got != want {
			t.Errorf("Takes(%q) = %t, want %t", mediaType, got, want)
		}
	}
}
