package config_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/config"
	"github.com/simplevalidations/simplevalidations/core"
	dbtest "github.com/simplevalidations/simplevalidations/core/coretest"
)

func TestStartWhileItsKeyIsInUse(t *testing.T) {
	t.Parallel()

	t.Run("ByACommitUnderWay", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		release := s.holdCounter(t)
		first := make(chan answer, 1)
		go func() {
			got, err := s.send(t.Context(), s.start(t, "busy"))
			if err != nil {
				t.Error(err)
			}
			first <- got
		}()
		s.awaitWaiting(t, 1)
		for _, call := range []call{
			s.start(t, "busy"), s.start(t, "busy").withBody("text/csv", "a\n"),
			s.start(t, "busy").by(s.Harbour.Tokens.Owner),
		} {
			problem := wantRetryLater(t, s.do(t, call), core.CodeKeyInProgress, 1, 1)
			if !problem.Retryable || !strings.Contains(problem.Detail, "currently being processed") {
				t.Errorf("problem = %+v, want a retryable one that says what is going on", problem)
			}
		}
		release()
		winner := <-first
		if winner.status != http.StatusCreated {
			t.Fatalf("first start: status = %d, want 201; body %s", winner.status, winner.body)
		}
		wantReplay(t, winner, s.do(t, s.start(t, "busy")))
		s.wantRows(t, rowCounts{Keys: 1, Submissions: 1, Runs: 1, Jobs: 1, Audits: 1, Used: 1})
	})

	t.Run("ByARequestBetweenItsPhases", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.started(t, s.start(t, "phases"))
		s.exec(t, `UPDATE idempotency_keys SET recovery_point = 'reserved', response_status = NULL,
			response_headers = NULL, response_body = NULL, locked_until = now() + interval '7.5 seconds'`)
		wantRetryLater(t, s.do(t, s.start(t, "phases")), core.CodeKeyInProgress, 7, 8)
		s.refused(t, core.CodeKeyReused, s.start(t, "phases").withBody("text/csv", "a\n"))
		s.wantRows(t, rowCounts{Keys: 1, Submissions: 1, Runs: 1, Jobs: 1, Audits: 1, Used: 1})
	})
}

func TestStartWhileTheDatabaseCannotAnswer(t *testing.T) {
	t.Parallel()

	t.Run("IsRefusedAndLeavesNothing", func(t *testing.T) {
		t.Parallel()
		s := setup(t, func(settings *config.Settings) { settings.DBLockTimeout = time.Second })
		release := s.holdCounter(t)
		problem := wantRetryLater(t, s.do(t, s.start(t, "late")), core.CodeUnavailable, 1, 1)
		if !problem.Retryable || !strings.Contains(problem.Detail, "Nothing was started") {
			t.Errorf("problem = %+v, want a retryable one that says that nothing was started", problem)
		}
		release()
		s.wantRows(t, rowCounts{})
		s.must(t, http.StatusCreated, s.start(t, "late"))
	})

	t.Run("IsNotDoneWithoutIdempotency", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.exec(t, `ALTER TABLE idempotency_keys RENAME TO away`)
		got := s.do(t, s.start(t, "away"))
		s.exec(t, `ALTER TABLE away RENAME TO idempotency_keys`)
		wantRetryLater(t, got, core.CodeUnavailable, 1, 1)
		s.wantRows(t, rowCounts{})
	})

	t.Run("OfAnotherReleaseIsNotReuse", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.started(t, s.start(t, "release"))
		s.exec(t, `UPDATE idempotency_keys SET fingerprint_version = fingerprint_version + 1`)
		wantRetryLater(t, s.do(t, s.start(t, "release")), core.CodeUnavailable, 1, 1)
		s.wantRows(t, rowCounts{Keys: 1, Submissions: 1, Runs: 1, Jobs: 1, Audits: 1, Used: 1})
	})
}

// holdCounter locks harbour's usage counter of the month until the returned function is called, so that a start
// waits after it has claimed its key.
func (s *stage) holdCounter(tb testing.TB) func() {
	tb.Helper()
	s.exec(tb, `INSERT INTO usage_counters (org_id, metric, period_start, quota)
		VALUES ($1, 'runs', date_trunc('month', now() AT TIME ZONE 'UTC'), 1000000)`, s.Harbour.ID)
	tx, err := s.db.Pool.Begin(tb.Context())
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
	dbtest.Eventually(tb, func() bool {
		return one[int64](tb, s, `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock'`) == n
	})
}
