package tasks_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/tasks"
)

func TestReadBacklog(t *testing.T) {
	t.Parallel()
	b := setup(t, startInProcess(t))
	empty, err := tasks.ReadBacklog(t.Context(), b.db)
	if err != nil || empty != (tasks.Backlog{}) {
		t.Fatalf("backlog = %+v, %v, want none", empty, err)
	}
	for _, insert := range []string{
		`SELECT 'dead', $1::uuid, $1::uuid, 1, 10, now() - interval '1 day'`,
		`SELECT 'refused', $1::uuid, $1::uuid, 1, 9, now() - interval '1 minute'`,
		`SELECT 'new', $1::uuid, $1::uuid, 1, 0, now() FROM generate_series(1, 20000)`,
	} {
		coretest.Prepare(t, b.db.Pool.Config().ConnString(), `
			INSERT INTO staged_jobs (kind, org_id, subject_id, epoch, attempts, created_at) `+insert, uuid.New())
	}
	found, err := tasks.ReadBacklog(t.Context(), b.db)
	if err != nil {
		t.Fatal(err)
	}
	found.Oldest = found.Oldest.Round(time.Minute)
	if want := (tasks.Backlog{Pending: 9999, DeadLetters: 1, Oldest: time.Minute}); found != want {
		t.Errorf("backlog = %+v, want %+v", found, want)
	}
}
