package api

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/config"
	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/coretest"
)

func TestStartWhileItsKeyIsInUse(t *testing.T) {
	t.Parallel()

	t.Run("ByACommitUnderWay", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		release := s.holdCounter(t)
		first := make(chan answer, 1)
		go func() {
			got, err := s.Send(t.Context(), s.Start(t, "busy"))
			if err != nil {
				t.Error(err)
			}
			first <- got
		}()
		s.awaitWaiting(t, 1)
		for _, call := range []call{
			s.Start(t, "busy"), s.Start(t, "busy").WithBody("text/csv", "a\n"),
			s.Start(t, "busy").By(s.Harbour.Tokens.Owner),
		} {
			problem := wantRetryLater(t, s.Do(t, call), core.CodeKeyInProgress, 1, 1)
			if !problem.Retryable || !strings.Contains(problem.Detail, "currently being processed") {
				t.Errorf("problem = %+v, want a retryable one that says what is going on", problem)
			}
		}
		release()
		winner := <-first
		if winner.Status != http.StatusCreated {
			t.Fatalf("first start: status = %d, want 201; body %s", winner.Status, winner.Body)
		}
		fixture.WantReplay(t, winner, s.Do(t, s.Start(t, "busy")))
		s.wantRows(t, fixture.RowCounts{Keys: 1, Submissions: 1, Runs: 1, Jobs: 1, Audits: 1, Used: 1})
	})

	t.Run("ByARequestBetweenItsPhases", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.Started(t, s.Start(t, "phases"))
		s.Exec(t, `UPDATE idempotency_keys SET recovery_point = 'reserved', response_status = NULL,
			response_headers = NULL, response_body = NULL, locked_until = now() + interval '1 hour'`)
		wantRetryLater(t, s.Do(t, s.Start(t, "phases")), core.CodeKeyInProgress, 3500, 3600)
		s.Refused(t, core.CodeKeyReused, s.Start(t, "phases").WithBody("text/csv", "a\n"))
		s.wantRows(t, fixture.RowCounts{Keys: 1, Submissions: 1, Runs: 1, Jobs: 1, Audits: 1, Used: 1})
	})
}

func TestStartWhileTheDatabaseCannotAnswer(t *testing.T) {
	t.Parallel()

	t.Run("IsRefusedAndLeavesNothing", func(t *testing.T) {
		t.Parallel()
		s := setup(t, func(settings *config.Settings) { settings.DBLockTimeout = time.Second })
		release := s.holdCounter(t)
		problem := wantRetryLater(t, s.Do(t, s.Start(t, "late")), core.CodeUnavailable, 1, 1)
		if !problem.Retryable || !strings.Contains(problem.Detail, "Nothing was started") {
			t.Errorf("problem = %+v, want a retryable one that says that nothing was started", problem)
		}
		release()
		s.wantRows(t, fixture.RowCounts{})
		s.Must(t, http.StatusCreated, s.Start(t, "late"))
	})

	t.Run("IsNotDoneWithoutIdempotency", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.Exec(t, `ALTER TABLE idempotency_keys RENAME TO away`)
		got := s.Do(t, s.Start(t, "away"))
		s.Exec(t, `ALTER TABLE away RENAME TO idempotency_keys`)
		wantRetryLater(t, got, core.CodeUnavailable, 1, 1)
		s.wantRows(t, fixture.RowCounts{})
	})

	t.Run("OfAnotherReleaseIsNotReuse", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.Started(t, s.Start(t, "release"))
		s.Exec(t, `UPDATE idempotency_keys SET fingerprint_version = fingerprint_version + 1`)
		wantRetryLater(t, s.Do(t, s.Start(t, "release")), core.CodeUnavailable, 1, 1)
		s.wantRows(t, fixture.RowCounts{Keys: 1, Submissions: 1, Runs: 1, Jobs: 1, Audits: 1, Used: 1})
	})
}

// holdCounter locks harbour's usage counter of the month until the returned function is called, so that a start
// waits after it has claimed its key.
func (s *stage) holdCounter(tb testing.TB) func() {
	tb.Helper()
	s.Exec(tb, `INSERT INTO usage_counters (org_id, metric, period_start, quota)
		VALUES ($1, 'runs', date_trunc('month', now() AT TIME ZONE 'UTC'), 1000000)`, s.Harbour.ID)
	tx, err := s.DB.Pool.Begin(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	if err := lockCounter(tb, tx, s.Harbour.ID); err != nil {
		tb.Fatal(err)
	}
	return func() {
		if err := tx.Rollback(tb.Context()); err != nil {
			tb.Errorf("release the counter: %v", err)
		}
	}
}

func lockCounter(tb testing.TB, tx pgx.Tx, orgID uuid.UUID) error {
	tb.Helper()
	_, err := tx.Exec(tb.Context(), `SELECT FROM usage_counters WHERE org_id = $1 FOR UPDATE`, orgID)
	return err
}

// awaitWaiting waits until as many transactions wait for a lock.
func (s *stage) awaitWaiting(tb testing.TB, n int64) {
	tb.Helper()
	coretest.Eventually(tb, func() bool {
		return coretest.One[int64](tb, s.DB, `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock'`) == n
	})
}
