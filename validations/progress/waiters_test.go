package progress

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/validations"
)

func TestMain(m *testing.M) {
	coretest.Main(m)
}

// insertRun inserts a run, whatever it refers to.
func insertRun(tb testing.TB, database *db.DB, run RunKey) {
	tb.Helper()
	err := db.Do(tb.Context(), database, func(tx db.Tx) error {
		if _, err := tx.Exec(tb.Context(), `SET LOCAL session_replication_role = replica`); err != nil {
			return err
		}
		_, err := tx.Exec(tb.Context(), `
			INSERT INTO validation_runs (org_id, id, workflow_id, workflow_version, workflow_slug, definition_digest,
				submission_id, source, usage_metric, usage_period, request_id, sweep_after)
			VALUES ($1, $2, $1, 1, '', '', $1, 'API', 'runs', '2026-03-01', 'r', now())`, run.OrgID, run.ID)
		return err
	})
	if err != nil {
		tb.Fatalf("insert a run: %v", err)
	}
}

// waited waits for progress while a loop calls RunOnce.
func waited(tb testing.TB, waiters *Waiters, run RunKey, beyond validations.Progress, wait time.Duration,
	begin func(),
) bool {
	tb.Helper()
	ctx, cancel := context.WithCancel(tb.Context())
	defer cancel()
	go func() {
		ticker := time.NewTicker(time.Millisecond)
		defer ticker.Stop()
		for ctx.Err() == nil {
			if _, err := waiters.RunOnce(ctx); err != nil && ctx.Err() == nil {
				tb.Errorf("RunOnce: %v", err)
			}
			<-ticker.C
		}
	}()
	begin()
	return waiters.AwaitAny(ctx, []Watch{{RunKey: run, Beyond: beyond}}, wait)
}

func TestWaiters(t *testing.T) {
	t.Parallel()
	database := coretest.OpenDatabase(t)
	waiters := NewWaiters(database)
	run := RunKey{OrgID: uuid.New(), ID: uuid.New()}
	insertRun(t, database, run)
	for _, tt := range []struct {
		name   string
		beyond validations.Progress
		begin  string
		want   bool
	}{
		{"NothingHappens", 0, `SELECT $1::uuid`, false},
		{"ItStarts", 0, `UPDATE validation_runs SET state = 'RUNNING', started_at = now() WHERE id = $1`, true},
		{"ItIsWhereItWas", 1, `SELECT $1::uuid`, false},
		{"AStepIsDone", 1, `UPDATE validation_runs SET recovery_point = 1 WHERE id = $1`, true},
		{"TheEndIsAwaited", validations.ProgressCompleted - 1, `SELECT $1::uuid`, false},
		{
			"ItEnds", validations.ProgressCompleted - 1,
			`UPDATE validation_runs SET state = 'COMPLETED', result = 'PASS',
			ended_at = now(), sweep_after = NULL WHERE id = $1`, true,
		},
	} {
		// On a busy machine it takes a while until a change is seen. What never comes is waited for a moment.
		wait := 200 * time.Millisecond
		if tt.want {
			wait = time.Minute
		}
		begin := func() {
			if _, err := database.Pool.Exec(t.Context(), tt.begin, run.ID); err != nil {
				t.Fatal(err)
			}
		}
		if got := waited(t, waiters, run, tt.beyond, wait, begin); got != tt.want {
			t.Errorf("%s: moved = %t, want %t", tt.name, got, tt.want)
		}
	}
	if len(waiters.waiting) != 0 {
		t.Errorf("still waiting = %d, want 0", len(waiters.waiting))
	}
	waiters.Close()
	if waiters.Open() || waited(t, waiters, run, validations.ProgressCompleted, time.Minute, func() {}) {
		t.Error("a request can wait although the process stops")
	}
}

// What this process has committed needs no query, for which this test has no database.
func TestAnnounceReleasesWaiters(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		waiters, run := NewWaiters(nil), RunKey{OrgID: uuid.New(), ID: uuid.New()}
		var released sync.WaitGroup
		for _, beyond := range []validations.Progress{0, 1} {
			released.Go(func() {
				if !waiters.AwaitAny(t.Context(), []Watch{{RunKey: run, Beyond: beyond}}, time.Minute) {
					t.Errorf("nothing was announced beyond %d", beyond)
				}
			})
		}
		other := RunKey{OrgID: run.OrgID, ID: uuid.New()}
		released.Go(func() {
			if waiters.AwaitAny(t.Context(), []Watch{{RunKey: other}}, time.Minute) {
				t.Error("the progress of another run was announced")
			}
		})
		synctest.Wait()
		waiters.Announce(run.OrgID, run.ID, 1)
		synctest.Wait()
		if len(waiters.waiting) != 2 {
			t.Errorf("waiting = %d after the first progress, want 2", len(waiters.waiting))
		}
		waiters.Announce(run.OrgID, run.ID, 2)
		released.Wait()
		if len(waiters.waiting) != 0 || len(waiters.byRun) != 0 {
			t.Errorf("still waiting = %d, %d, want none", len(waiters.waiting), len(waiters.byRun))
		}
	})
}
