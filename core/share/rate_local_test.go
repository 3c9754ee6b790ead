package share

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
)

func TestLocalRate(t *testing.T) {
	t.Parallel()

	t.Run("AllowsABurstAndThenTheRate", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			limit, id := NewLocalRate("requests", 2, 3), uuid.New()
			if got := allowed(limit, id, 5); got != 3 {
				t.Errorf("allowed = %d of 5 at once, want 3", got)
			}
			want := core.Allowance{
				Wait:   500 * time.Millisecond,
				Policy: core.RatePolicy{Name: "requests", Quota: 3, Window: 1500 * time.Millisecond},
				Reset:  1500 * time.Millisecond,
			}
			if diff := cmp.Diff(want, limit.Allow(context.Background(), id)); diff != "" {
				t.Errorf("allowance (-want +got):\n%s", diff)
			}
			<-time.After(500 * time.Millisecond)
			if got := allowed(limit, id, 5); got != 1 {
				t.Errorf("allowed = %d of 5 after 0.5 s, want 1: refusals cost nothing", got)
			}
		})
	})

	t.Run("CountsEachIDAlone", func(t *testing.T) {
		t.Parallel()
		limit := NewLocalRate("requests", 0.001, 1)
		for range 3 {
			if got := allowed(limit, uuid.New(), 2); got != 1 {
				t.Errorf("allowed = %d of 2, want 1", got)
			}
		}
	})

	t.Run("IsExactWhenManyAskAtOnce", func(t *testing.T) {
		t.Parallel()
		limit, id := NewLocalRate("requests", 0.001, 50), uuid.New()
		var total atomic.Int64
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() { total.Add(int64(allowed(limit, id, 20))) })
		}
		group.Wait()
		if got := total.Load(); got != 50 {
			t.Errorf("allowed = %d of 160, want 50", got)
		}
	})
}

func TestLocalRateMemory(t *testing.T) {
	t.Parallel()

	t.Run("ForgetsIDsThatAreIdle", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			limit, busy := NewLocalRate("requests", 0.01, 1), uuid.New()
			for range 1000 {
				limit.Allow(context.Background(), uuid.New())
			}
			for range 30 {
				limit.Allow(context.Background(), busy)
				<-time.After(10 * time.Second)
			}
			if got := len(limit.entries); got != 1 {
				t.Errorf("entries = %d after five minutes, want the one in use", got)
			}
		})
	})

	t.Run("IsOffAtZero", func(t *testing.T) {
		t.Parallel()
		limit := NewLocalRate("requests", 0, 0)
		if got := allowed(limit, uuid.New(), 1000); got != 1000 || len(limit.entries) != 0 {
			t.Errorf("allowed = %d of 1000 with %d entries, want all with none", got, len(limit.entries))
		}
	})
}

func allowed(limit *LocalRate, id uuid.UUID, tries int) int {
	n := 0
	for range tries {
		if limit.Allow(context.Background(), id).Wait == 0 {
			n++
		}
	}
	return n
}
