package tasks_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/tasks"
)

func TestEnqueuer(t *testing.T) {
	t.Parallel()
	for name, start := range backends() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			t.Run("HandsOverWhatIsDue", func(t *testing.T) {
				t.Parallel()
				b := setup(t, start(t))
				list := newJobs(3)
				list[1].OrgID = list[0].OrgID
				b.stage(t, list...)
				b.exec(t, "UPDATE staged_jobs SET due_at = now() + interval '1 minute' WHERE subject_id = $1",
					list[1].SubjectID)
				b.run(t, 2)
				b.run(t, 0)
				b.wantPending(t, list[0], list[2])
				b.wantStaged(t, 1)
			})

			t.Run("HandsOverEachEpoch", func(t *testing.T) {
				t.Parallel()
				b := setup(t, start(t))
				first := newJob()
				second := first
				second.Epoch++
				b.stage(t, first)
				b.run(t, 1)
				b.stage(t, second)
				b.run(t, 1)
				b.wantPending(t, first, second)
			})

			t.Run("FindsRowsThatCommitLate", func(t *testing.T) {
				t.Parallel()
				b := setup(t, start(t))
				early, late := newJob(), newJob()
				tx, err := b.db.Pool.Begin(t.Context())
				if err != nil {
					t.Fatalf("begin: %v", err)
				}
				if _, err := tx.Exec(t.Context(), `
					INSERT INTO staged_jobs (kind, org_id, subject_id, epoch) VALUES ($1, $2, $3, 1)`,
					string(early.Kind), early.OrgID, early.SubjectID); err != nil {
					t.Fatalf("insert: %v", err)
				}
				b.stage(t, late)
				b.run(t, 1)
				if err := tx.Commit(t.Context()); err != nil {
					t.Fatalf("commit: %v", err)
				}
				b.run(t, 1)
				b.wantPending(t, early, late)
				b.wantStaged(t, 0)
			})

			t.Run("SharesWorkWithOthers", func(t *testing.T) {
				t.Parallel()
				b := setup(t, start(t))
				list := newJobs(600)
				b.stage(t, list...)
				if moved := drainTogether(t, b, 5); moved != len(list) {
					t.Errorf("rows handed over = %d, want each of %d once", moved, len(list))
				}
				b.wantPending(t, list...)
				b.wantStaged(t, 0)
			})

			t.Run("StartsOverWhenRedisForgets", func(t *testing.T) {
				t.Parallel()
				b := setup(t, start(t))
				job := newJob()
				b.stage(t, job)
				b.run(t, 1)
				if err := b.client.FlushAll(t.Context()).Err(); err != nil {
					t.Fatalf("flush: %v", err)
				}
				for range 2 {
					b.stage(t, job)
					b.run(t, 1)
					b.wantPending(t, job)
				}
				b.wantStaged(t, 0)
			})
		})
	}
}

// drainTogether lets several enqueuers work until nothing is left and returns the sum of what they did.
func drainTogether(tb testing.TB, b *testBundle, enqueuers int) int {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), coretest.Patience)
	defer cancel()
	// An enqueuer may find nothing while another is at work, or has just been. Like the loop, it looks again then.
	drained := func() bool {
		var left int
		err := b.db.Pool.QueryRow(ctx, `SELECT count(*) FROM staged_jobs`).Scan(&left)
		return err == nil && left == 0
	}
	var moved atomic.Int64
	var group sync.WaitGroup
	for range enqueuers {
		enqueuer := b.newEnqueuer(1000)
		group.Go(func() {
			for ctx.Err() == nil && !drained() {
				// On a busy machine Redis may be late. Like the loop, go on then.
				n, _ := enqueuer.RunOnce(ctx)
				moved.Add(int64(n))
			}
		})
	}
	group.Wait()
	return int(moved.Load())
}

func TestEnqueuerCrash(t *testing.T) {
	t.Parallel()
	for name, start := range backends() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, start(t))
			job := newJob()
			b.stage(t, job)
			// The database loses the transaction after Redis has taken the task, as often as it is tried.
			crash := &afterEnqueue{times: 100, do: func(ctx context.Context) error {
				_, err := b.db.Pool.Exec(ctx, `SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
					WHERE datname = current_database() AND state = 'idle in transaction'`)
				return err
			}}
			b.client.AddHook(crash)
			if n, err := b.enqueuer.RunOnce(t.Context()); err == nil {
				t.Fatalf("run once = %d without an error, want the lost connection", n)
			}
			crash.times = 0
			b.wantPending(t, job)
			b.wantStaged(t, 1)
			b.run(t, 1)
			b.wantPending(t, job)
			b.wantStaged(t, 0)
		})
	}
}

// TestEnqueuerFreezes has a process stand still when the queue has taken a task, so that it sees no deadline.
func TestEnqueuerFreezes(t *testing.T) {
	t.Parallel()
	b := setup(t, redisServer(t))
	job := newJob()
	b.stage(t, job)
	frozen, thaw := context.WithCancel(t.Context())
	defer thaw()
	handedOver, result := make(chan struct{}), make(chan error, 1)
	b.client.AddHook(&afterEnqueue{times: 1, do: func(context.Context) error {
		close(handedOver)
		<-frozen.Done()
		return nil
	}})
	go func() {
		_, err := b.enqueuer.RunOnce(t.Context())
		result <- err
	}()
	coretest.Receive(t, "the queue takes the task", handedOver)
	coretest.Await(t, "the row can be locked by others", func() bool {
		tag, err := b.db.Pool.Exec(t.Context(), "SELECT FROM staged_jobs FOR UPDATE SKIP LOCKED")
		return err == nil && tag.RowsAffected() == 1
	})
	thaw()
	if err := coretest.Receive(t, "the enqueuer goes on", result); err == nil {
		t.Error("run once without an error, want the lost transaction")
	}
	b.wantStaged(t, 1)
	b.run(t, 1)
	b.wantPending(t, job)
	b.wantStaged(t, 0)
}

// afterEnqueue does something when the queue has been asked to take a task, for the first so many times.
type afterEnqueue struct {
	times int
	do    func(ctx context.Context) error
}

func (h *afterEnqueue) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *afterEnqueue) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		return h.after(ctx, next(ctx, cmds), cmds...)
	}
}

func (h *afterEnqueue) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		return h.after(ctx, next(ctx, cmd), cmd)
	}
}

func (h *afterEnqueue) after(ctx context.Context, err error, cmds ...redis.Cmder) error {
	if err != nil || h.times == 0 || !strings.HasPrefix(cmds[0].Name(), "eval") {
		return err
	}
	h.times--
	return h.do(ctx)
}

func TestEnqueuerPoison(t *testing.T) {
	t.Parallel()

	t.Run("BlocksNothingBehindIt", func(t *testing.T) {
		t.Parallel()
		b := setup(t, redisServer(t))
		b.enqueuer = b.newEnqueuer(8)
		poison := newJobs(30)
		for i := range poison {
			poison[i].Kind = ""
		}
		good := newJobs(5)
		b.stage(t, append(poison, good...)...)
		for range poison {
			if _, err := b.enqueuer.RunOnce(t.Context()); err != nil {
				t.Fatalf("run once: %v", err)
			}
		}
		b.wantPending(t, good...)
		for _, row := range b.staged(t) {
			// On a busy machine the first of them are due again.
			if row.Kind != "" || row.Attempts == 0 || row.LastError == "" {
				t.Errorf("row = %+v, want a refused one", row)
			}
		}
	})

	t.Run("BelongsToItsRowWhenRedisIsWell", func(t *testing.T) {
		t.Parallel()
		b := setup(t, redisServer(t))
		bad, good := newJob(), newJob()
		if err := b.client.Set(t.Context(), "asynq:{"+tasks.QueueJobs+"}:t:"+bad.TaskID(), "x", 0).Err(); err != nil {
			t.Fatalf("spoil the task's key: %v", err)
		}
		b.stage(t, bad, good)
		b.run(t, 2)
		b.wantPending(t, good)
		if rows := b.staged(t); len(rows) != 1 || !strings.Contains(rows[0].LastError, "WRONGTYPE") {
			t.Errorf("staged = %+v, want the spoiled one with WRONGTYPE", rows)
		}
	})
}

func TestEnqueuerMakesDeadLetters(t *testing.T) {
	t.Parallel()
	b := setup(t, redisServer(t))
	job := newJob()
	job.Kind = ""
	b.stage(t, job)
	id := coretest.One[int64](t, b.db, `SELECT id FROM staged_jobs`)
	for _, change := range []func(context.Context, *db.DB, int64, core.AuditRecord) error{
		tasks.RetryDeadLetter, tasks.DiscardDeadLetter,
	} {
		if err := change(t.Context(), b.db, id, core.AuditRecord{}); !errors.Is(err, api.CodeNotFound) {
			t.Errorf("error = %v for a job that is no dead letter, want %s", err, api.CodeNotFound)
		}
	}
	var last time.Duration
	for attempt := 1; attempt <= 10; attempt++ {
		b.run(t, 1)
		row := b.staged(t)[0]
		if row.Attempts != attempt {
			t.Fatalf("attempts = %d, want %d", row.Attempts, attempt)
		}
		last = row.DueIn
		if attempt < 10 && last > 5*time.Minute {
			t.Errorf("due in %s after %d attempts, want at most 5 m", last, attempt)
		}
		// The first delays are so short that a busy machine lets them pass.
		if attempt == 9 && last < time.Minute {
			t.Errorf("due in %s after %d attempts, want at least 1 m", last, attempt)
		}
		b.exec(t, "UPDATE staged_jobs SET due_at = now() WHERE due_at < now() + interval '1 year'")
	}
	if last < 365*24*time.Hour {
		t.Errorf("due in %s after the last attempt, want years", last)
	}
	b.run(t, 0)
}

func TestEnqueuerWithoutRedis(t *testing.T) {
	t.Parallel()

	t.Run("LosesNothingWhileItIsDown", func(t *testing.T) {
		t.Parallel()
		server := newStoppableRedis(t)
		b := setup(t, redisAt(t, server.url))
		list := newJobs(20)
		b.stage(t, list...)
		server.stop(t)
		wantUntouched(t, b, len(list))
		server.start(t)
		b.run(t, len(list))
		b.wantPending(t, list...)
		b.wantStaged(t, 0)
	})

	for name, change := range map[string][2]string{
		"LeavesRowsWhenOutOfMemory":  {"maxmemory", "1"},
		"LeavesRowsWhenTooFewCopies": {"min-replicas-to-write", "1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, redisServer(t))
			list := newJobs(20)
			b.stage(t, list...)
			if err := b.client.ConfigSet(t.Context(), change[0], change[1]).Err(); err != nil {
				t.Fatalf("set %s: %v", change[0], err)
			}
			wantUntouched(t, b, len(list))
			if err := b.client.ConfigSet(t.Context(), change[0], "0").Err(); err != nil {
				t.Fatalf("reset %s: %v", change[0], err)
			}
			b.run(t, len(list))
			b.wantPending(t, list...)
		})
	}

	t.Run("HoldsNoLockForLongWhileItHangs", func(t *testing.T) {
		t.Parallel()
		b := setup(t, redisServer(t))
		list := newJobs(20)
		b.stage(t, list...)
		if err := b.client.Do(t.Context(), "CLIENT", "PAUSE", "60000", "WRITE").Err(); err != nil {
			t.Fatalf("pause: %v", err)
		}
		// A transaction that waits for Redis longer is ended by the database, and its outcome unknown.
		wantUntouched(t, b, len(list))
		// Only a lock that is gone lets these through.
		if _, err := b.db.Pool.Exec(t.Context(), "SELECT FROM staged_jobs FOR UPDATE NOWAIT"); err != nil {
			t.Errorf("lock all rows: %v", err)
		}
	})

	t.Run("KeepsWhatWasTakenBeforeItWentAway", func(t *testing.T) {
		t.Parallel()
		b := setup(t, redisServer(t))
		list := newJobs(50)
		b.stage(t, list...)
		// The first task is in, then Redis takes no more.
		b.client.AddHook(&afterEnqueue{times: 1, do: func(ctx context.Context) error {
			return b.client.ConfigSet(ctx, "maxmemory", "1").Err()
		}})
		n, err := b.enqueuer.RunOnce(t.Context())
		if err == nil || n == 0 || n == len(list) {
			t.Fatalf("run once = %d, %v, want a part and an error", n, err)
		}
		b.wantStaged(t, len(list)-n)
		if err := b.client.ConfigSet(t.Context(), "maxmemory", "0").Err(); err != nil {
			t.Fatalf("reset: %v", err)
		}
		b.run(t, len(list)-n)
		b.wantPending(t, list...)
	})
}

// wantUntouched runs the enqueuer, wants the error of Redis and each row unchanged.
func wantUntouched(tb testing.TB, b *testBundle, rows int) {
	tb.Helper()
	if n, err := b.enqueuer.RunOnce(tb.Context()); n != 0 || err == nil || errors.Is(err, db.ErrOutcomeUnknown) {
		tb.Fatalf("run once = %d, %v, want 0 and the error of Redis", n, err)
	}
	staged := b.staged(tb)
	if len(staged) != rows {
		tb.Errorf("staged jobs = %d, want %d", len(staged), rows)
	}
	for _, row := range staged {
		if row.Attempts != 0 || row.LastError != "" || row.DueIn > 0 {
			tb.Errorf("row = %+v, want it untouched", row)
		}
	}
}
