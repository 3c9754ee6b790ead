package start

import (
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/metrics"
)

// crowd is many small organizations whose starts share the batches of several processes.
type crowd struct {
	bundle

	processes []*Starter
	tenants   []tenant

	mu sync.Mutex
	// created are the runs that were answered, with their keys, and outcomes how often each outcome was.
	created  []map[uuid.UUID]string
	outcomes []map[string]int
}

// crowdQuotas are how many different quotas the organizations have, from 0 on.
const crowdQuotas = 9

func gatherCrowd(t *testing.T) *crowd {
	t.Helper()
	const processes, tenants = 3, 3 * crowdQuotas
	c := &crowd{bundle: setup(t)}
	for range processes {
		database := coretest.Connect(t, c.db.Pool.Config().ConnString())
		s, cfg := c.starter, c.starter.cfg
		cfg.CommitTimeout = time.Minute
		c.processes = append(c.processes,
			New(database, cfg, s.runs, s.guard, s.local, s.staged, nil, metrics.New("").Starts))
	}
	for i := range tenants {
		c.tenants = append(c.tenants, c.tenant(t, int64(i%crowdQuotas)))
		c.created, c.outcomes = append(c.created, map[uuid.UUID]string{}), append(c.outcomes, map[string]int{})
	}
	return c
}

// start starts a run of any organization with any key at any process. Few of the keys are new, and some documents are
// refused by the database.
func (c *crowd) start(t *testing.T, random *rand.Rand) {
	t.Helper()
	const keys, documents, faults = 7, 8, 100
	i, key := random.IntN(len(c.tenants)), random.IntN(keys)
	a := c.tenants[i].start(t, map[bool]string{false: strconv.Itoa(key)}[key == 0],
		map[bool]string{true: "other", false: "a"}[random.IntN(documents) == 0])
	if random.IntN(faults) == 0 {
		a.run.Submission.Filename = "\xff"
	}
	process := c.processes[random.IntN(len(c.processes))]
	process.commitShared(t.Context(), a)
	outcome := c.outcomeOf(t, a)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.outcomes[i][outcome]++
	if outcome == "created" {
		c.created[i][a.run.Run.ID] = a.claim.Key
	}
}

// check demands of an organization one run per answer, one charge per run and one run per key.
func (c *crowd) check(t *testing.T, i int) {
	t.Helper()
	tn, created := c.tenants[i], c.created[i]
	keys := make(map[string]int)
	for id, key := range created {
		if found := coretest.One[int](t, c.db, `SELECT count(*) FROM validation_runs
			WHERE org_id = $1 AND id = $2 AND idempotency_key = $3`, tn.principal.OrgID, id, key); found != 1 {
			t.Errorf("run %s, which was answered, is there %d times", id, found)
		}
		if key != "" {
			keys[key]++
		}
	}
	for key, runs := range keys {
		if runs != 1 {
			t.Errorf("key %q has %d runs", key, runs)
		}
	}
	want := all(len(created))
	want.keys = len(keys)
	c.checkCounts(t, tn, want)
	quota := i % crowdQuotas
	if refused := c.outcomes[i]["quota_exceeded"]; want.used > quota || refused > 0 && want.used < quota {
		t.Errorf("%d of %d runs are used, and %d starts were refused", want.used, quota, refused)
	}
	if lost := c.outcomes[i]["outcome_unknown"] + c.outcomes[i]["unavailable"]; lost > 0 {
		t.Errorf("outcomes = %v, want that each start is decided", c.outcomes[i])
	}
}

// Small organizations use up their quotas and repeat their keys, in batches that they share.
func TestSharedBatchesKeepEveryPromise(t *testing.T) {
	t.Parallel()
	c := gatherCrowd(t)
	const clients, starts = 48, 25
	var sending sync.WaitGroup
	for client := range clients {
		sending.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(client)))
			for range starts {
				c.start(t, random)
			}
		})
	}
	sending.Wait()
	for i := range c.tenants {
		c.check(t, i)
	}
}
