package share_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/share"
)

// take takes a place at once.
func take(tb testing.TB, places *share.Places, org uuid.UUID, memory int64) func() {
	tb.Helper()
	release, err := places.Take(tb.Context(), org, memory)
	if err != nil {
		tb.Fatalf("take: %v", err)
	}
	return release
}

// queue waits for a place beside the test, and returns when it waits.
func queue(tb testing.TB, places *share.Places, org uuid.UUID, memory int64) <-chan func() {
	tb.Helper()
	before := places.Usage()
	served := make(chan func(), 1)
	go func() {
		if release, err := places.Take(tb.Context(), org, memory); err == nil {
			served <- release
		}
	}()
	coretest.Eventually(tb, func() bool {
		now := places.Usage()
		return now.Waiting > before.Waiting || now.Taken > before.Taken
	})
	return served
}

func wantWaiting(tb testing.TB, served <-chan func(), why string) {
	tb.Helper()
	select {
	case <-served:
		tb.Errorf("served: %s", why)
	default:
	}
}

func TestTakeLeavesHalfToOthersThatWait(t *testing.T) {
	t.Parallel()
	places, busy, other := share.New(4, 100), uuid.New(), uuid.New()
	var held []func()
	for range 4 {
		held = append(held, take(t, places, busy, 0))
	}
	busyWaits := queue(t, places, busy, 0)
	first := take(t, places, other, 0)
	second := queue(t, places, other, 0)
	held[0]()
	wantWaiting(t, second, "four of four places are taken")
	held[1]()
	(<-second)()
	wantWaiting(t, busyWaits, "it has two places")
	_ = first
}

func TestTakeLeavesHalfOfTheMemory(t *testing.T) {
	t.Parallel()
	places, busy, other := share.New(8, 100), uuid.New(), uuid.New()
	release := take(t, places, busy, 40)
	take(t, places, other, 50)
	busyWaits := queue(t, places, busy, 40)
	otherWaits := queue(t, places, other, 40)
	release()
	<-busyWaits
	wantWaiting(t, otherWaits, "it has half of the memory")
}

func TestTakeLeavesTheOtherHalfOfTheMemoryFree(t *testing.T) {
	t.Parallel()
	places, busy, other := share.New(8, 100), uuid.New(), uuid.New()
	take(t, places, busy, 40)
	// With more places than the busy one it is served later, unless that one has its part.
	take(t, places, other, 0)
	take(t, places, other, 0)
	big := take(t, places, other, 55)
	busyWaits := queue(t, places, busy, 30)
	otherWaits := queue(t, places, other, 60)
	big()
	wantWaiting(t, busyWaits, "it would have 70 of 100, and another one waits")
	(<-otherWaits)()
	<-busyWaits
}

func TestTakeKeepsNoMemoryForAnOrganizationThatHasItsPart(t *testing.T) {
	t.Parallel()
	places, busy, other := share.New(4, 100), uuid.New(), uuid.New()
	take(t, places, busy, 40)
	small := take(t, places, other, 60)
	busyWaits := queue(t, places, busy, 45)
	for range 20 {
		next := queue(t, places, other, 60)
		small()
		if places.Usage().Waiting > 1 {
			t.Fatal("nobody is served although there is memory")
		}
		small = <-next
	}
	wantWaiting(t, busyWaits, "it would have 85 of 100, and another one waits")
}

func TestTakeRunsAloneWhatNeedsMoreThanThereIs(t *testing.T) {
	t.Parallel()
	places := share.New(4, 100)
	take(t, places, uuid.New(), 1000)()
}

func TestTakeKeepsMemoryForAWaiterPassedOverForLong(t *testing.T) {
	t.Parallel()
	places, big := share.New(2, 100), uuid.New()
	small := take(t, places, uuid.New(), 30)
	served := queue(t, places, big, 80)
	for range 100 {
		waits := queue(t, places, uuid.New(), 30)
		select {
		case release := <-waits:
			small()
			small = release
		default:
			small()
			<-served
			return
		}
	}
	t.Error("a hundred others were served before it")
}

func TestTakeEndsWithItsContext(t *testing.T) {
	t.Parallel()
	places, org := share.New(1, 100), uuid.New()
	release := take(t, places, org, 0)
	ctx, cancel := context.WithCancelCause(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := places.Take(ctx, org, 0)
		failed <- err
	}()
	coretest.Eventually(t, func() bool { return places.Usage().Waiting == 1 })
	reason := errors.New("gone")
	cancel(reason)
	if err := <-failed; !errors.Is(err, reason) {
		t.Errorf("err = %v, want the cause", err)
	}
	release()
	take(t, places, org, 0)()
}

// Many organizations take and give back at random: the bounds hold at every moment, and nobody is forgotten.
func TestTakeUnderLoad(t *testing.T) {
	t.Parallel()

	const total, memory, orgs, rounds = 4, 1000, 6, 500
	places := share.New(total, memory)
	var taken, used atomic.Int64
	var workers sync.WaitGroup
	for range orgs {
		org := uuid.New()
		for range 4 {
			workers.Go(func() {
				for range rounds {
					need := rand.Int64N(memory)
					ctx, cancel := context.WithCancel(t.Context())
					if rand.N(8) == 0 {
						go cancel()
					}
					release, err := places.Take(ctx, org, need)
					if err == nil {
						if n := taken.Add(1); n > total+1 {
							t.Errorf("%d places are taken", n)
						}
						if n := used.Add(need); n > memory+memory/8 {
							t.Errorf("%d bytes are used", n)
						}
						taken.Add(-1)
						used.Add(-need)
						release()
					}
					cancel()
				}
			})
		}
	}
	workers.Wait()
	if left := places.Usage(); left.Taken != 0 || left.Used != 0 || left.Waiting != 0 {
		t.Errorf("left behind: %+v", left)
	}
}

func TestTryTakeTakesAllForOneThatIsAlone(t *testing.T) {
	t.Parallel()
	places, busy := share.New(4, 100), uuid.New()
	for range 4 {
		if _, ok := places.TryTake(busy, 25); !ok {
			t.Error("a free place was not taken")
		}
	}
	if _, ok := places.TryTake(busy, 0); ok {
		t.Error("more places were taken than there are")
	}
}

func TestTryTakeTakesAPartWhileAnotherOneHasSomething(t *testing.T) {
	t.Parallel()
	places, busy, other := share.New(4, 160), uuid.New(), uuid.New()
	var leave []func()
	for range 4 {
		left, ok := places.TryTake(busy, 40)
		if !ok {
			t.Fatal("a free place was not taken")
		}
		leave = append(leave, left)
	}
	if _, ok := places.TryTake(other, 20); !ok {
		t.Fatal("the next organization was not given a place beyond the total")
	}
	leave[0]()
	leave[1]()
	if _, ok := places.TryTake(busy, 0); ok {
		t.Error("the busy organization has more than its part")
	}
	if _, ok := places.TryTake(other, 60); !ok {
		t.Error("the other organization has less than its part")
	}
	leave[2]()
	if _, ok := places.TryTake(busy, 41); ok {
		t.Error("the busy organization has more than its part of the memory")
	}
	if _, ok := places.TryTake(busy, 40); !ok {
		t.Error("the busy organization has less than its part")
	}
}

func TestTryTakeTakesNothingWhereThereIsNothing(t *testing.T) {
	t.Parallel()
	if _, ok := share.New(0, 0).TryTake(uuid.New(), 0); ok {
		t.Error("a place was taken of none")
	}
}

func TestTryTakeTakesNothingBeforeWaiters(t *testing.T) {
	t.Parallel()
	places, busy, late := share.New(4, 100), uuid.New(), uuid.New()
	take(t, places, uuid.New(), 60)
	waits := queue(t, places, busy, 60)
	if _, ok := places.TryTake(late, 10); ok {
		t.Error("somebody was served before the one who waits")
	}
	wantWaiting(t, waits, "there is no memory")
}

func TestClose(t *testing.T) {
	t.Parallel()
	places, org, reason := share.New(1, 0), uuid.New(), errors.New("closed")
	leave := take(t, places, org, 0)
	refused := make(chan error, 1)
	go func() {
		_, err := places.Take(t.Context(), org, 0)
		refused <- err
	}()
	coretest.Eventually(t, func() bool { return places.Usage().Waiting == 1 })
	places.Close(reason)
	if err := <-refused; !errors.Is(err, reason) {
		t.Errorf("Take of one who waits = %v, want %v", err, reason)
	}
	leave()
	if _, err := places.Take(t.Context(), org, 0); !errors.Is(err, reason) {
		t.Errorf("Take = %v, want %v", err, reason)
	}
	if _, ok := places.TryTake(org, 0); ok {
		t.Error("a closed place was taken")
	}
	if got := places.Usage(); got.Taken != 0 || got.Waiting != 0 {
		t.Errorf("usage = %+v, want none", got)
	}
}
