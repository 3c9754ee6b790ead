package start

import (
	"strconv"
	"sync"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/coretest"
)

// No statement fails for what is normal: the first starts of a month, used-up quotas, and copies of a request. An error
// aborts a transaction, and PostgreSQL logs it as one.
func TestWhatIsNormalIsNoError(t *testing.T) {
	t.Parallel()
	b := setup(t)
	aborted := func() int64 {
		return coretest.One[int64](t, b.db, `SELECT xact_rollback FROM pg_stat_database
			WHERE datname = current_database()`)
	}
	before := aborted()
	starter := *b.starter
	starter.database = coretest.Connect(t, b.db.Pool.Config().ConnString())
	const organizations, quota, copies = 6, 3, 8
	var sending sync.WaitGroup
	for range organizations {
		tn := b.tenant(t, quota)
		for i := range 2 * quota {
			for range copies {
				a := tn.start(t, strconv.Itoa(i), "a")
				sending.Go(func() { starter.commitBatch(t.Context(), []*attempt{a}) })
			}
		}
	}
	sending.Wait()
	// A session that ends has reported what it counted.
	if err := starter.database.Close(); err != nil {
		t.Fatal(err)
	}
	coretest.Eventually(t, func() bool {
		return coretest.One[int](t, b.db, `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'`) == 0
	})
	if got := aborted() - before; got != 0 {
		t.Errorf("%d transactions were aborted, want none", got)
	}
}
