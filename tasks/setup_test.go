package tasks_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/hibiken/asynq"
	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/embedded"
	"github.com/simplevalidations/simplevalidations/core/jobs"
	"github.com/simplevalidations/simplevalidations/tasks"
)

const kindCheck jobs.Kind = "tests.check"

func TestMain(m *testing.M) {
	tasks.LogRedisClient(discard())
	coretest.Main(m)
}

// testBundle is a database, a Redis and an enqueuer between them.
type testBundle struct {
	db        *db.DB
	redis     tasks.Redis
	client    redis.UniversalClient
	inspector *asynq.Inspector
	enqueuer  *tasks.Enqueuer
}

// backends are the two kinds of Redis that the product runs with.
func backends() map[string]func(testing.TB) tasks.Redis {
	return map[string]func(testing.TB) tasks.Redis{"RedisServer": redisServer, "InProcess": startInProcess}
}

func redisServer(tb testing.TB) tasks.Redis {
	tb.Helper()
	return redisAt(tb, coretest.Redis(tb))
}

func redisAt(tb testing.TB, url string) tasks.Redis {
	tb.Helper()
	opt, err := tasks.ParseRedisURL(url)
	if err != nil {
		tb.Fatalf("parse Redis URL: %v", err)
	}
	return opt
}

func startInProcess(tb testing.TB) tasks.Redis {
	tb.Helper()
	private, err := embedded.StartRedis(tb.Context(), tasks.ScriptsInGo(), discard())
	if err != nil {
		tb.Fatalf("start in-process Redis: %v", err)
	}
	tb.Cleanup(private.Stop)
	return tasks.InProcess(private.Dial)
}

func setup(tb testing.TB, opt tasks.Redis) *testBundle {
	tb.Helper()
	b := &testBundle{db: coretest.OpenDatabase(tb), redis: opt, client: opt.Client()}
	tb.Cleanup(func() { _ = b.client.Close() })
	b.inspector = asynq.NewInspectorFromRedisClient(b.client)
	b.enqueuer = b.newEnqueuer(1000)
	return b
}

// newEnqueuer makes an enqueuer that counts on workers with so many slots.
func (b *testBundle) newEnqueuer(slots int) *tasks.Enqueuer {
	cfg := tasks.EnqueuerConfig{Slots: func() (int, error) { return slots, nil }, JobTimeout: time.Hour}
	return tasks.NewEnqueuer(b.db, b.client, cfg, jobs.NewSignal(), discard())
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

func newJob() jobs.Job {
	return jobs.Job{Kind: kindCheck, OrgID: uuid.New(), SubjectID: uuid.New(), Epoch: 1}
}

func newJobs(n int) []jobs.Job {
	list := make([]jobs.Job, n)
	for i := range list {
		list[i] = newJob()
	}
	return list
}

// stage stages jobs and commits.
func (b *testBundle) stage(tb testing.TB, list ...jobs.Job) {
	tb.Helper()
	err := db.Do(tb.Context(), b.db, func(tx db.Tx) error {
		batch := tx.NewBatch()
		jobs.Stage(batch, list...)
		return batch.Send(tb.Context())
	})
	if err != nil {
		tb.Fatalf("stage jobs: %v", err)
	}
}

func (b *testBundle) exec(tb testing.TB, query string, args ...any) {
	tb.Helper()
	if _, err := b.db.Pool.Exec(tb.Context(), query, args...); err != nil {
		tb.Fatalf("%s: %v", query, err)
	}
}

// run runs the enqueuer once and wants it to deal with that many rows.
func (b *testBundle) run(tb testing.TB, want int) {
	tb.Helper()
	got, err := b.enqueuer.RunOnce(tb.Context())
	if err != nil {
		tb.Fatalf("run once: %v", err)
	}
	if got != want {
		tb.Errorf("dealt with %d rows, want %d", got, want)
	}
}

// stagedRow is a row of staged_jobs as the tests look at it.
type stagedRow struct {
	Kind      string
	Attempts  int
	LastError string
	DueIn     time.Duration
}

func (b *testBundle) staged(tb testing.TB) []stagedRow {
	tb.Helper()
	rows, err := b.db.Pool.Query(tb.Context(),
		"SELECT kind, attempts, last_error, due_at - now() FROM staged_jobs ORDER BY id")
	if err != nil {
		tb.Fatalf("query staged jobs: %v", err)
	}
	staged, err := pgx.CollectRows(rows, pgx.RowToStructByPos[stagedRow])
	if err != nil {
		tb.Fatalf("read staged jobs: %v", err)
	}
	return staged
}

func (b *testBundle) wantStaged(tb testing.TB, want int) {
	tb.Helper()
	if got := len(b.staged(tb)); got != want {
		tb.Errorf("staged jobs = %d, want %d", got, want)
	}
}

// pending returns the ids of the tasks that wait to be run.
func (b *testBundle) pending(tb testing.TB) map[string]bool {
	tb.Helper()
	infos, err := b.inspector.ListPendingTasks(tasks.QueueJobs, asynq.PageSize(10_000))
	if err != nil {
		tb.Fatalf("list pending tasks: %v", err)
	}
	ids := map[string]bool{}
	for _, info := range infos {
		ids[info.ID] = true
	}
	return ids
}

func (b *testBundle) wantPending(tb testing.TB, want ...jobs.Job) {
	tb.Helper()
	got := b.pending(tb)
	if len(got) != len(want) {
		tb.Errorf("pending tasks = %d, want %d", len(got), len(want))
	}
	for _, job := range want {
		if !got[job.TaskID()] {
			tb.Errorf("task %s is not pending", job.TaskID())
		}
	}
}

// wantState waits until the task of the job is in that state.
func (b *testBundle) wantState(tb testing.TB, job jobs.Job, want asynq.TaskState) *asynq.TaskInfo {
	tb.Helper()
	var info *asynq.TaskInfo
	coretest.Await(tb, "task is "+want.String(), func() bool {
		var err error
		info, err = b.inspector.GetTaskInfo(tasks.QueueJobs, job.TaskID())
		return err == nil && info.State == want
	})
	return info
}
