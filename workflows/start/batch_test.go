package start

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coalesce"
)

// queue is a Starter with a short queue, whose one commit continues when the test says so.
type queue struct {
	*Starter

	begun, end chan struct{}
}

// queue makes a queue with room for so many starts that wait. What it commits is in the bundle's database.
func (b bundle) queue(waiting int) queue {
	starter := *b.starter
	q := queue{Starter: &starter, begun: make(chan struct{}), end: make(chan struct{})}
	q.batches = coalesce.New(coalesce.Limits{
		Batches: 1, Members: 1, Weight: maxBatchBytes, Waiting: waiting, WaitingWeight: maxBatchBytes,
	}, (*attempt).size, func(ctx context.Context, batch []*attempt) []struct{} {
		close(q.begun)
		<-q.end
		return b.starter.commitBatch(ctx, batch)
	})
	return q
}

func TestCommitShared(t *testing.T) {
	t.Parallel()
	b := setup(t)
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	stopped, stop := context.WithCancelCause(t.Context())
	stop(errors.New("the server stops"))
	late, expire := context.WithTimeout(t.Context(), 0)
	t.Cleanup(expire)

	for _, tt := range []struct {
		name    string
		ctx     context.Context //nolint:containedctx // The end of the context is what differs.
		waiting int
		key     string
		cause   error
	}{
		{"TheQueueIsFull", t.Context(), 0, "k", coalesce.ErrOverloaded},
		{"TheQueueIsFullForOneWithoutAKey", t.Context(), 0, "", coalesce.ErrOverloaded},
		{"TheClientGoesWhileItQueues", canceled, 1, "k", context.Canceled},
		{"TheClientGoesWhileItQueuesWithoutAKey", canceled, 1, "", context.Canceled},
		{"TheServerStopsWhileItQueues", stopped, 1, "k", context.Cause(stopped)},
		{"TheTimeIsUpWhileItQueues", late, 1, "k", context.DeadlineExceeded},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			first, tn, q := b.tenant(t, 1), b.tenant(t, 1), b.queue(tt.waiting)
			leader, refused := first.start(t, "k", "a"), tn.start(t, tt.key, "a")
			led := make(chan struct{})
			go func() {
				defer close(led)
				q.commitShared(t.Context(), leader)
			}()
			<-q.begun
			q.commitShared(tt.ctx, refused)
			wantUnavailable(t, refused.err, tt.cause)
			close(q.end)
			<-led
			b.checkOutcomes(t, []*attempt{leader}, "created")
			b.checkCounts(t, first, all(1))
			b.checkCounts(t, tn, counts{})
			// Nothing is left of it that the next attempt would meet.
			again := tn.start(t, tt.key, "a")
			b.starter.commitShared(t.Context(), again)
			b.checkOutcomes(t, []*attempt{again}, "created")
		})
	}

	t.Run("TheGroupEndsWithoutAResult", func(t *testing.T) {
		t.Parallel()
		starter, st := *b.starter, b.tenant(t, 1).start(t, "k", "a")
		starter.batches = coalesce.New(coalesce.Limits{Batches: 1, Members: 1}, (*attempt).size,
			func(context.Context, []*attempt) []struct{} { return nil })
		starter.commitShared(t.Context(), st)
		err := core.AsError(st.err)
		if err.Code != api.CodeOutcomeUnknown || err.RunID != st.run.Run.ID.String() {
			t.Errorf("err = %+v, want outcome_unknown with the run's id", err)
		}
	})
}

// wantUnavailable demands the answer to a start that was never committed: that it may be sent again, in a moment.
func wantUnavailable(tb testing.TB, got, cause error) {
	tb.Helper()
	err := core.AsError(got)
	if err.Code != api.CodeUnavailable || !err.Retryable || err.RetryAfter < time.Second || err.RunID != "" {
		tb.Errorf("err = %+v, want unavailable, to be tried again after a second at least, and no run", err)
	}
	if !errors.Is(err, cause) {
		tb.Errorf("cause = %v, want %v", err, cause)
	}
}
