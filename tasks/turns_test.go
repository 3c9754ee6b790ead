package tasks_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/jobs"
	"github.com/simplevalidations/simplevalidations/tasks"
)

// orgNumber is an organization whose place in the order of ids is known.
func orgNumber(n int) uuid.UUID {
	return uuid.MustParse(fmt.Sprintf("00000000-0000-4000-8000-%012d", n))
}

// Organizations whose tasks take long and that have all they may have hold up nobody behind them.
func TestEnqueuerPassesOverOrganizationsThatHaveEnough(t *testing.T) {
	t.Parallel()
	b := setup(t, redisServer(t))
	const slots = 16
	b.enqueuer = b.newEnqueuer(slots)
	for i := range slots - 1 {
		executed := jobs.Job{Kind: kindCheck, OrgID: orgNumber(i), SubjectID: uuid.New(), Epoch: 1}
		if err := b.client.ZAdd(t.Context(), "asynq:{jobs}:lease", redis.Z{
			Score: float64(time.Now().Add(time.Hour).Unix()), Member: executed.TaskID(),
		}).Err(); err != nil {
			t.Fatal(err)
		}
		b.stageMany(t, executed.OrgID, 10)
	}
	waits := newJob()
	waits.OrgID = orgNumber(slots)
	b.stage(t, waits)
	b.run(t, 1)
	b.wantPending(t, waits)
}

// Two enqueuers that see the same queue at the same time hand over no more than one alone.
func TestEnqueuersCountWhatTheOtherHandsOver(t *testing.T) {
	t.Parallel()
	b := setup(t, redisServer(t))
	const slots = 16
	first, second, org := b.newEnqueuer(slots), b.newEnqueuer(slots), uuid.New()
	b.stageMany(t, org, 100)
	b.client.AddHook(&afterLook{do: func() { drain(t, first) }})
	drain(t, second)
	if got := b.inQueue(t)[org]; got != slots/2 {
		t.Errorf("%d tasks in the queue, want half of %d slots", got, slots)
	}
}

// afterLook does something when the queue has been looked at for the first time.
type afterLook struct {
	done bool
	do   func()
}

func (h *afterLook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *afterLook) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (h *afterLook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		if !h.done && cmds[0].Name() == "llen" {
			h.done = true
			h.do()
		}
		return err
	}
}

// The other enqueuer may have looked for jobs before this one's job was staged.
func TestEnqueuerLooksAgainBehindAnother(t *testing.T) {
	t.Parallel()
	b := setup(t, redisServer(t))
	signal := jobs.NewSignal()
	enqueuer := tasks.NewEnqueuer(b.db, b.client, tasks.EnqueuerConfig{
		Slots: func() (int, error) { return 1, nil }, JobTimeout: time.Hour,
	}, signal, discard())
	b.stage(t, newJob())
	other, err := b.db.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Exec(t.Context(), `SELECT pg_advisory_xact_lock($1)`, jobs.EnqueueLock); err != nil {
		t.Fatal(err)
	}
	if n, err := enqueuer.RunOnce(t.Context()); n != 0 || err != nil {
		t.Fatalf("run once = %d, %v beside another enqueuer, want nothing", n, err)
	}
	if err := other.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	coretest.Receive(t, "the enqueuer is woken", signal.Ready())
	if n, err := enqueuer.RunOnce(t.Context()); n != 1 || err != nil {
		t.Errorf("run once = %d, %v behind another enqueuer, want 1", n, err)
	}
}

// Fast workers get tasks ahead of their free slots. However fast they are, one organization gets no more than its
// share.
func TestEnqueuerFollowsThePaceOfTheWorkers(t *testing.T) {
	t.Parallel()
	for name, start := range backends() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, start(t))
			const slots, orgs = 4, 100
			b.enqueuer = b.newEnqueuer(slots)
			for i := range orgs {
				b.stageMany(t, orgNumber(i), 3)
			}
			b.run(t, slots+1)
			b.run(t, 0)
			if err := b.client.Set(t.Context(), "asynq:{jobs}:processed", 1_000_000, 0).Err(); err != nil {
				t.Fatal(err)
			}
			coretest.Await(t, "more tasks wait than there are slots", func() bool {
				if _, err := b.enqueuer.RunOnce(t.Context()); err != nil {
					t.Fatal(err)
				}
				return len(b.pending(t)) > 2*slots
			})
			for org, n := range b.inQueue(t) {
				if n > 1 {
					t.Errorf("organization %s has %d tasks in the queue, want 1 beside so many others", org, n)
				}
			}
		})
	}
}
