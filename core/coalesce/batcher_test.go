package coalesce_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/core/coalesce"
)

// line is a Batcher of numbers whose batches end when the test says so. The result is the number doubled.
type line struct {
	*coalesce.Batcher[int, int]

	begun chan []int
	end   chan struct{}
}

func newLine(limits coalesce.Limits) line {
	l := line{begun: make(chan []int), end: make(chan struct{})}
	l.Batcher = coalesce.New(limits, func(n int) int { return n },
		func(_ context.Context, items []int) []int {
			l.begun <- items
			<-l.end
			doubled := make([]int, len(items))
			for i, n := range items {
				doubled[i] = 2 * n
			}
			return doubled
		})
	return l
}

// arrive lets callers come one after the other.
func (l line) arrive(ctx context.Context, t *testing.T, callers *sync.WaitGroup, items ...int) {
	t.Helper()
	for _, n := range items {
		callers.Go(func() {
			got, err := l.Do(ctx, n)
			if err != nil || got != 2*n {
				t.Errorf("result for %d = %d, %v, want %d", n, got, err, 2*n)
			}
		})
		synctest.Wait()
	}
}

// collect receives the groups as they begin. Their list is whole when the callers have ended.
func (l line) collect(callers *sync.WaitGroup, n int) *[][]int {
	groups := new([][]int)
	callers.Go(func() {
		for range n {
			*groups = append(*groups, <-l.begun)
		}
	})
	return groups
}

// patience is longer than any group takes that is not meant to be slow.
const patience = time.Second

func wide(groups int) coalesce.Limits {
	return coalesce.Limits{Batches: groups, Members: 10, Weight: 100, Waiting: 10, WaitingWeight: 1000}
}

// overlapping lets a group begin beside one that is late.
func overlapping() coalesce.Limits {
	limits := wide(2)
	limits.MinBatch, limits.OverlapAfter = 5, patience
	return limits
}

func TestBatcher(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		limits coalesce.Limits
		items  []int
		groups [][]int
	}{
		{"ALoneCallerIsServedAtOnce", wide(1), []int{1}, [][]int{{1}}},
		{"WhoComesMeanwhileFormsTheNextGroup", wide(1), []int{1, 2, 3, 4}, [][]int{{1}, {2, 3, 4}}},
		{"SeveralGroupsAtOnce", wide(2), []int{1, 2, 3, 4}, [][]int{{1}, {2}, {3, 4}}},
		{
			"AnotherGroupWhenEnoughWait",
			coalesce.Limits{
				Batches: 2, MinBatch: 2, OverlapAfter: patience, Members: 10, Weight: 100,
				Waiting: 10, WaitingWeight: 1000,
			},
			[]int{1, 2, 3, 4},
			[][]int{{1}, {2, 3}, {4}},
		},
		{
			"AnotherGroupWhenAHeavyOneWaits",
			coalesce.Limits{
				Batches: 2, MinBatch: 5, OverlapAfter: patience, Members: 10, Weight: 10,
				Waiting: 10, WaitingWeight: 1000,
			},
			// The last one would fit into a group that has not begun.
			[]int{1, 2, 8, 0},
			[][]int{{1}, {2, 8}, {0}},
		},
		{
			"BoundedInMembers",
			coalesce.Limits{Batches: 1, Members: 2, Weight: 100, Waiting: 10, WaitingWeight: 1000},
			[]int{1, 2, 3, 4},
			[][]int{{1}, {2, 3}, {4}},
		},
		{
			"BoundedInWeight",
			coalesce.Limits{Batches: 1, Members: 10, Weight: 10, Waiting: 10, WaitingWeight: 1000},
			[]int{1, 4, 6, 5},
			[][]int{{1}, {4, 6}, {5}},
		},
		{
			"OneThatIsTooHeavyGoesAlone",
			coalesce.Limits{Batches: 1, Members: 10, Weight: 10, Waiting: 10, WaitingWeight: 1000},
			[]int{1, 50, 2, 60},
			[][]int{{1}, {50}, {2}, {60}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := newLine(tt.limits)
				var callers sync.WaitGroup
				groups := l.collect(&callers, len(tt.groups))
				l.arrive(t.Context(), t, &callers, tt.items...)
				for range tt.groups {
					l.end <- struct{}{}
					synctest.Wait()
				}
				callers.Wait()
				if diff := cmp.Diff(tt.groups, *groups); diff != "" {
					t.Errorf("groups (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestBatcherDoesNotWaitForASlowBatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLine(overlapping())
		var callers sync.WaitGroup
		groups := l.collect(&callers, 3)
		l.arrive(t.Context(), t, &callers, 1, 2, 3)
		<-time.After(patience)
		synctest.Wait()
		if want := [][]int{{1}, {2, 3}}; !slices.EqualFunc(*groups, want, slices.Equal) {
			t.Errorf("groups at work when the first is late = %v, want %v", *groups, want)
		}
		// The second group is not late.
		l.arrive(t.Context(), t, &callers, 4)
		if len(*groups) != 2 {
			t.Errorf("groups = %v, want the last caller to wait", *groups)
		}
		close(l.end)
		callers.Wait()
		if got := l.Waiting(); got != 0 {
			t.Errorf("waiting at the end = %d, want nobody", got)
		}
	})
}

// A slow batch that has ended is not slow for ever: callers share a batch again.
func TestBatcherSharesAgainAfterASlowBatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLine(overlapping())
		var callers sync.WaitGroup
		groups := l.collect(&callers, 3)
		l.arrive(t.Context(), t, &callers, 1)
		<-time.After(patience)
		synctest.Wait()
		l.end <- struct{}{}
		synctest.Wait()
		l.arrive(t.Context(), t, &callers, 2, 3, 4)
		close(l.end)
		callers.Wait()
		if diff := cmp.Diff([][]int{{1}, {2}, {3, 4}}, *groups); diff != "" {
			t.Errorf("groups (-want +got):\n%s", diff)
		}
	})
}

func TestBatcherRefusesBeyondItsQueue(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		limits  coalesce.Limits
		refused int
	}{
		{"TooMany", coalesce.Limits{Batches: 1, Members: 10, Weight: 100, Waiting: 2, WaitingWeight: 100}, 1},
		{"TooHeavy", coalesce.Limits{Batches: 1, Members: 10, Weight: 100, Waiting: 10, WaitingWeight: 7}, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := newLine(tt.limits)
				var callers sync.WaitGroup
				callers.Go(func() { <-l.begun; <-l.begun })
				l.arrive(t.Context(), t, &callers, 100, 2, 3)
				if _, err := l.Do(t.Context(), tt.refused); !errors.Is(err, coalesce.ErrOverloaded) {
					t.Errorf("error = %v, want %v", err, coalesce.ErrOverloaded)
				}
				close(l.end)
				callers.Wait()
			})
		})
	}
}

func TestBatcherReleasesWaitersWhoseContextEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLine(wide(1))
		ctx, cancel := context.WithCancel(t.Context())
		var callers sync.WaitGroup
		var second []int
		callers.Go(func() { <-l.begun; second = <-l.begun })
		// The first is at work already and stays although its context ends.
		l.arrive(ctx, t, &callers, 1)
		callers.Go(func() {
			if _, err := l.Do(ctx, 2); !errors.Is(err, context.Canceled) {
				t.Errorf("error = %v, want %v", err, context.Canceled)
			}
		})
		synctest.Wait()
		l.arrive(t.Context(), t, &callers, 3)
		cancel()
		synctest.Wait()
		close(l.end)
		callers.Wait()
		if !slices.Equal(second, []int{3}) {
			t.Errorf("second group = %v, want only the one who stayed", second)
		}
	})
}

// Callers who leave take their weight with them, or the queue would be full of nobody.
func TestBatcherForgetsTheWeightOfThoseWhoLeave(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limits := wide(1)
		l := newLine(limits)
		var callers sync.WaitGroup
		callers.Go(func() { <-l.begun; <-l.begun })
		l.arrive(t.Context(), t, &callers, 1)
		ctx, cancel := context.WithCancel(t.Context())
		callers.Go(func() {
			if _, err := l.Do(ctx, limits.WaitingWeight); !errors.Is(err, context.Canceled) {
				t.Errorf("error = %v, want %v", err, context.Canceled)
			}
		})
		synctest.Wait()
		cancel()
		synctest.Wait()
		l.arrive(t.Context(), t, &callers, limits.WaitingWeight)
		close(l.end)
		callers.Wait()
	})
}

func TestBatcherAnswersWhenTheWorkPanics(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun, fail := make(chan struct{}), make(chan struct{})
		c := coalesce.New(wide(1), func(int) int { return 1 }, func(_ context.Context, items []int) []int {
			if len(items) > 1 {
				panic("on purpose")
			}
			begun <- struct{}{}
			<-fail
			return items
		})
		var callers sync.WaitGroup
		var panics, refusals atomic.Int64
		call := func(n int) {
			defer func() {
				if recover() != nil {
					panics.Add(1)
				}
			}()
			if _, err := c.Do(t.Context(), n); err != nil {
				refusals.Add(1)
			}
		}
		callers.Go(func() { call(1) })
		<-begun
		callers.Go(func() { call(2) })
		callers.Go(func() { call(3) })
		synctest.Wait()
		close(fail)
		callers.Wait()
		if panics.Load() != 1 || refusals.Load() != 1 {
			t.Errorf("panics = %d, errors = %d, want the leader's panic and an error for its follower",
				panics.Load(), refusals.Load())
		}
		// The next one finds it in order.
		callers.Go(func() { <-begun })
		if got, err := c.Do(t.Context(), 4); got != 4 || err != nil {
			t.Errorf("result after a panic = %d, %v, want 4", got, err)
		}
		callers.Wait()
	})
}

func TestBatcherServesEachCallerOnce(t *testing.T) {
	t.Parallel()
	const callersAtOnce, rounds = 32, 200
	var served atomic.Int64
	c := coalesce.New(
		coalesce.Limits{
			Batches: 2, Members: 8, Weight: 100, Waiting: callersAtOnce, WaitingWeight: callersAtOnce,
		},
		func(int) int { return 1 },
		func(_ context.Context, items []int) []int {
			served.Add(int64(len(items)))
			return items
		})
	var callers sync.WaitGroup
	var left atomic.Int64
	for i := range callersAtOnce {
		callers.Go(func() {
			for n := range rounds {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(n%3)*time.Microsecond+time.Nanosecond)
				if n%3 == 0 {
					ctx = t.Context()
				}
				got, err := c.Do(ctx, i*rounds+n)
				cancel()
				switch {
				case errors.Is(err, context.DeadlineExceeded):
					left.Add(1)
				case err != nil || got != i*rounds+n:
					t.Errorf("result for %d = %d, %v", i*rounds+n, got, err)
				}
			}
		})
	}
	callers.Wait()
	if got, want := served.Load(), callersAtOnce*rounds-left.Load(); got != want {
		t.Errorf("served = %d, want each of those who stayed once, %d", got, want)
	}
}
