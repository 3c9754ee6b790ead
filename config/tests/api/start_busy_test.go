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
	"github.com/simplevalidations/simplevalidations/core/api"
)

func TestStartWhileTheDatabaseCannotAnswer(t *testing.T) {
	t.Parallel()

	t.Run("IsRefusedAndLeavesNothing", func(t *testing.T) {
		t.Parallel()
		s := setup(t, func(settings *config.Settings) { settings.DBLockTimeout = time.Second })
		release := s.holdCounter(t)
		problem := wantRetryLater(t, s.Do(t, s.Start(t, "late")), api.CodeUnavailable, 1)
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
		wantRetryLater(t, got, api.CodeUnavailable, 1)
		s.wantRows(t, fixture.RowCounts{})
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
