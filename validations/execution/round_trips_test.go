package execution

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/coretest/pgproxy"
)

// behindProxy has the executor reach its database through a proxy, over one connection at a time.
func (b *testBundle) behindProxy(tb testing.TB) *pgproxy.Proxy {
	tb.Helper()
	proxy := pgproxy.Start(tb, b.db.Pool.Config().ConnString())
	b.executor.db = coretest.Connect(tb, proxy.URL())
	return proxy
}

// However many runs share a transaction, it takes one round trip to lease them and one to write their results.
func TestRoundTripsOfABatch(t *testing.T) {
	t.Parallel()
	b := setup(t, testConfig())
	proxy := b.behindProxy(t)
	trips := func() int64 {
		before := proxy.RoundTrips()
		leases := b.leaseBatch(t, batchMembers/2)
		leased := proxy.RoundTrips()
		ends := make([]stepEnd, len(leases))
		for i := range leases {
			ends[i] = endOf(leases[i])
		}
		if _, err := b.executor.commitSteps(t.Context(), ends); err != nil {
			t.Fatal(err)
		}
		return max(leased-before, proxy.RoundTrips()-leased)
	}
	trips() // The first time the statements are prepared.
	if got := trips(); got != 1 {
		t.Errorf("a batch takes %d round trips, want 1", got)
	}
}

// The results that come while transactions are under way share the next one: they do not take turns.
func TestConcurrentResultsShareTransactions(t *testing.T) {
	t.Parallel()
	b := setup(t, testConfig())
	leases := b.leaseBatch(t, batchMembers/2)
	proxy := b.behindProxy(t)
	var begun, members atomic.Int64
	proxy.Watch(func(commit pgproxy.Commit) pgproxy.Fault {
		if !strings.Contains(commit.String(), "step_runs") {
			return pgproxy.Fault{}
		}
		begun.Add(1)
		members.Add(int64(commit.Members))
		return pgproxy.Fault{Before: func() {
			coretest.Eventually(t, func() bool {
				all := int(members.Load())+b.executor.steps.batches.Waiting() >= len(leases)
				return all || begun.Load() > parallelBatches // No more are to be expected at once.
			})
		}}
	})
	var running sync.WaitGroup
	for _, held := range leases {
		running.Go(func() {
			if _, err := b.executor.steps.do(t.Context(), endOf(held)); err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
	if got := members.Load(); got != int64(len(leases)) {
		t.Errorf("%d results were written, want %d", got, len(leases))
	}
	if most := int64(parallelBatches + 1); begun.Load() > most {
		t.Errorf("%d results took %d transactions, want %d at most", len(leases), begun.Load(), most)
	}
}
