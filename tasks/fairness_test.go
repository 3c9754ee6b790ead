package tasks_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/simplevalidations/simplevalidations/core/jobs"
	"github.com/simplevalidations/simplevalidations/tasks"
)

// stageMany stages jobs of one organization.
func (b *testBundle) stageMany(tb testing.TB, org uuid.UUID, n int) {
	tb.Helper()
	b.exec(tb, `INSERT INTO staged_jobs (kind, org_id, subject_id, epoch)
		SELECT $1, $2, gen_random_uuid(), 1 FROM generate_series(1, $3)`, string(kindCheck), org, n)
}

// inQueue counts the waiting tasks of each organization.
func (b *testBundle) inQueue(tb testing.TB) map[uuid.UUID]int {
	tb.Helper()
	counts := make(map[uuid.UUID]int)
	for id := range b.pending(tb) {
		org, _ := tasks.OrganizationOf(id)
		counts[org]++
	}
	return counts
}

// drain runs the enqueuer until it finds no room or no jobs.
func drain(tb testing.TB, enqueuer *tasks.Enqueuer) {
	tb.Helper()
	for {
		n, err := enqueuer.RunOnce(tb.Context())
		if err != nil {
			tb.Fatalf("run once: %v", err)
		}
		if n == 0 {
			return
		}
	}
}

func TestEnqueuerGivesTheNextOrganizationItsTurnAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t, redisServer(t))
	b.enqueuer = b.newEnqueuer(16)
	busy, next := uuid.New(), newJob()
	b.stageMany(t, busy, 5000)
	drain(t, b.enqueuer)
	b.stage(t, next)
	b.run(t, 1)
	if !b.pending(t)[next.TaskID()] {
		t.Error("the job of another organization waits behind the backlog")
	}
}

func TestEnqueuerServesEachOrganizationBeforeAnyASecondTime(t *testing.T) {
	t.Parallel()
	b := setup(t, redisServer(t))
	b.enqueuer = b.newEnqueuer(8)
	const orgs = 40
	for range orgs {
		b.stageMany(t, uuid.New(), 3)
	}
	served := make(map[uuid.UUID]int)
	for len(served) < orgs {
		drain(t, b.enqueuer)
		turn := b.inQueue(t)
		if len(turn) == 0 {
			t.Fatalf("served %d of %d organizations and then none", len(served), orgs)
		}
		for org, n := range turn {
			if served[org] += n; served[org] > 1 && len(served) < orgs-len(turn) {
				t.Fatalf("an organization was served %d times before %d others", served[org], orgs-len(served))
			}
		}
		if err := b.client.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestEnqueuerCountsNoTasksOfDeadWorkers(t *testing.T) {
	t.Parallel()
	b := setup(t, redisServer(t))
	b.enqueuer = b.newEnqueuer(16)
	org := uuid.New()
	for i := range 64 {
		job := jobs.Job{Kind: kindCheck, OrgID: org, SubjectID: uuid.New(), Epoch: 1}
		expires := time.Now().Add(-time.Duration(i) * time.Second)
		if err := b.client.ZAdd(t.Context(), "asynq:{jobs}:lease", redis.Z{
			Score: float64(expires.Unix()), Member: job.TaskID(),
		}).Err(); err != nil {
			t.Fatal(err)
		}
	}
	b.stageMany(t, org, 100)
	b.run(t, 8)
}

func TestEnqueuerCountsTheTasksThatAreExecuted(t *testing.T) {
	t.Parallel()
	b := setup(t, redisServer(t))
	b.enqueuer = b.newEnqueuer(16)
	org := uuid.New()
	for range 8 {
		job := jobs.Job{Kind: kindCheck, OrgID: org, SubjectID: uuid.New(), Epoch: 1}
		if err := b.client.ZAdd(t.Context(), "asynq:{jobs}:lease", redis.Z{
			Score: float64(time.Now().Add(30 * time.Second).Unix()), Member: job.TaskID(),
		}).Err(); err != nil {
			t.Fatal(err)
		}
	}
	b.stageMany(t, org, 100)
	b.run(t, 0)
}
