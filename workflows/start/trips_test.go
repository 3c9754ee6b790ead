package start

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/coretest/pgproxy"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/users/quota"
)

// observed is a bundle whose Starter reaches the database through a proxy, over one connection at a time.
type observed struct {
	bundle

	proxy *pgproxy.Proxy
	// full has no quota, few has one of 4; nothing keeps the others from starting.
	full, few tenant
	others    []tenant
}

func observe(t *testing.T) observed {
	t.Helper()
	o := observed{bundle: setup(t)}
	o.proxy = pgproxy.Start(t, o.db.Pool.Config().ConnString())
	o.starter.database = coretest.ConnectWithin(t, o.proxy.URL(), 10*time.Second)
	o.full, o.few = o.tenant(t, 0), o.tenant(t, 4)
	for range 6 {
		o.others = append(o.others, o.tenant(t, 100))
	}
	// The first starts of a month open the counters, and the connection prepares each statement that it has not seen.
	o.commit(t.Context(), append(o.each(t, "first"), o.few.start(t, "first", "a"), o.full.start(t, "first", "a"))...)
	o.commit(t.Context(), o.others[0].start(t, "first", "b"))
	o.commit(t.Context(), o.others[0].start(t, "", "b"))
	return o
}

// each prepares a start of each of the others.
func (o observed) each(t *testing.T, key string) []*attempt {
	t.Helper()
	return db.Column(o.others, func(tn *tenant) *attempt { return tn.start(t, key, "a") })
}

// trips commits a batch, checks its outcomes, and returns how many round trips it has taken.
func (o observed) trips(t *testing.T, batch []*attempt, outcomes ...string) int64 {
	t.Helper()
	before := o.proxy.RoundTrips()
	o.commit(t.Context(), batch...)
	took := o.proxy.RoundTrips() - before
	o.checkOutcomes(t, batch, outcomes...)
	return took
}

// What is granted costs one round trip, whatever shares its batch.
func TestGrantedStartsTakeOneRoundTrip(t *testing.T) {
	t.Parallel()
	o := observe(t)
	for name, batch := range map[string][]*attempt{
		"alone":                    {o.others[0].start(t, "a", "a")},
		"without a key":            {o.others[0].start(t, "", "a")},
		"of several organizations": o.each(t, "b"),
	} {
		if got := o.trips(t, batch, slices.Repeat([]string{"created"}, len(batch))...); got != 1 {
			t.Errorf("starts %s took %d round trips, want 1", name, got)
		}
	}
}

// A start whose quota is used up is refused by two reads, before its document is sent.
func TestSpentQuotasAreReadFirst(t *testing.T) {
	t.Parallel()
	o := observe(t)
	if got := o.trips(t, []*attempt{o.full.start(t, "a", "a")}, "quota_exceeded"); got != 2 {
		t.Errorf("a refusal took %d round trips, want 2", got)
	}
	more := int64(10)
	if err := o.users.SetRunQuota(t.Context(), o.full.principal.OrgID, &more); err != nil {
		t.Fatal(err)
	}
	if got := o.trips(t, []*attempt{o.full.start(t, "b", "a")}, "created"); got != 3 {
		t.Errorf("the first start with a new quota took %d round trips, want 3", got)
	}
	if got := o.trips(t, []*attempt{o.full.start(t, "c", "a")}, "created"); got != 1 {
		t.Errorf("the second start with a new quota took %d round trips, want 1", got)
	}
}

// A request whose key was answered gets that answer, although its quota is used up.
func TestSpentQuotasReplay(t *testing.T) {
	t.Parallel()
	o := observe(t)
	batch := []*attempt{o.few.start(t, "1", "a"), o.few.start(t, "2", "a"), o.few.start(t, "3", "a")}
	o.trips(t, append(batch, o.few.start(t, "4", "a")), "created", "created", "created", "quota_exceeded")
	o.trips(t, []*attempt{
		o.few.start(t, "2", "a"), o.few.start(t, "2", "b"), o.few.start(t, "5", "a"),
	}, "replayed", "idempotency_key_reused", "quota_exceeded")
	o.checkCounts(t, o.few, all(4))
}

// While a key is held, its copies neither wait for the counter that its holder has locked, nor write anything.
func TestCopiesDoNotWaitForTheCounter(t *testing.T) {
	t.Parallel()
	o := observe(t)
	tn := o.others[2]
	first := tn.start(t, "held", "a")
	if _, err := db.InTx(t.Context(), o.db, func(tx db.Tx) (int, error) {
		batch := tx.NewBatch()
		o.starter.queue(batch, []*attempt{first})
		if err := batch.Send(t.Context()); err != nil {
			return 0, err
		}
		o.trips(t, []*attempt{tn.start(t, "held", "a")}, "idempotency_key_in_progress")
		return 0, nil
	}); err != nil {
		t.Fatal(err)
	}
	o.trips(t, []*attempt{tn.start(t, "held", "a")}, "replayed")
	o.checkCounts(t, tn, all(2))
}

// A connection is lost of which the server does not learn: its session keeps the key and the counter. The start is told
// that nothing is known of it, and is not sent again to meet itself; starts of others have nothing to do with it.
func TestLostStartsDoNotMeetThemselves(t *testing.T) {
	t.Parallel()
	o := observe(t)
	lost, other := o.others[4], o.others[5]
	noticed := make(chan struct{})
	var once sync.Once
	o.proxy.Watch(func(pgproxy.Commit) pgproxy.Fault {
		fault := pgproxy.Fault{}
		once.Do(func() { fault.Abandon = noticed })
		return fault
	})
	if got := o.trips(t, []*attempt{lost.start(t, "lost", "a")}, "outcome_unknown"); got != 1 {
		t.Errorf("the lost start was sent %d times, want once", got)
	}
	o.trips(t, []*attempt{other.start(t, "other", "a"), lost.start(t, "lost", "a")},
		"created", "idempotency_key_in_progress")
	close(noticed)
	coretest.Eventually(t, func() bool {
		return coretest.One[int](t, o.db, `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database =
			(SELECT oid FROM pg_database WHERE datname = current_database())`) == 0
	})
	o.trips(t, []*attempt{lost.start(t, "lost", "a")}, "created")
	o.checkCounts(t, lost, all(2))
}

// A key that has expired is taken over by one request at a time. A copy is refused at once and does not try again and
// again, until the first one has ended.
func TestCopiesDoNotInsistOnAnExpiredKey(t *testing.T) {
	t.Parallel()
	o := observe(t)
	tn := o.others[3]
	o.trips(t, []*attempt{tn.start(t, "used", "a")}, "created")
	if _, err := o.db.Pool.Exec(t.Context(), `UPDATE idempotency_keys SET
		created_at = now() - interval '2 hours', expires_at = now() - interval '1 hour'
		WHERE org_id = $1 AND key = 'used'`, tn.principal.OrgID); err != nil {
		t.Fatal(err)
	}
	if _, err := db.InTx(t.Context(), o.db, func(tx db.Tx) (int, error) {
		batch := tx.NewBatch()
		o.starter.queue(batch, []*attempt{tn.start(t, "used", "b")})
		if err := batch.Send(t.Context()); err != nil {
			return 0, err
		}
		if got := o.trips(t, []*attempt{tn.start(t, "used", "c")}, "idempotency_key_in_progress"); got != 2 {
			t.Errorf("a refusal took %d round trips, want 2", got)
		}
		return 0, nil
	}); err != nil {
		t.Fatal(err)
	}
	o.trips(t, []*attempt{tn.start(t, "used", "b")}, "replayed")
	o.checkCounts(t, tn, counts{keys: 2, submissions: 3, runs: 3, jobs: 3, audits: 3, used: 3})
}

func TestSpentIsBounded(t *testing.T) {
	t.Parallel()
	known, none := newSpent(), int64(0)
	for range maxSpent + 1 {
		id := uuid.New()
		known.learn(map[uuid.UUID]quota.Usage{id: {OrgID: id, Quota: &none}})
	}
	if got := len(known.orgs); got == 0 || got > maxSpent {
		t.Errorf("%d organizations are remembered, want 1 to %d", got, maxSpent)
	}
}
