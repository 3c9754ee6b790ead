package start

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/coretest/pgproxy"
	"github.com/simplevalidations/simplevalidations/core/db"
)

// observed is a bundle whose Starter reaches the database through a proxy, over one connection at a time.
type observed struct {
	bundle

	proxy *pgproxy.Proxy
	// full has no quota, few has one of 2; nothing keeps the others from starting.
	full, few tenant
	others    []tenant
}

func observe(t *testing.T) observed {
	t.Helper()
	o := observed{bundle: setup(t)}
	o.proxy = pgproxy.Start(t, o.db.Pool.Config().ConnString())
	o.starter.database = coretest.Connect(t, o.proxy.URL())
	o.full, o.few = o.tenant(t, 0), o.tenant(t, 2)
	for range 6 {
		o.others = append(o.others, o.tenant(t, 100))
	}
	// The first start of a month opens the counter.
	o.commit(t.Context(), append(o.each(t, "first"), o.few.start(t, "first", "a"))...)
	o.prepareStatements(t)
	return o
}

// prepareStatements has the connection prepare its statements, as it does for each that it has not seen, and again for
// those of a batch that has failed.
func (o observed) prepareStatements(t *testing.T) {
	t.Helper()
	for range 2 {
		o.commit(t.Context(), o.others[0].start(t, uuid.NewString(), "a"))
		o.commit(t.Context(), o.each(t, uuid.NewString())...)
		refused := o.full.start(t, uuid.NewString(), "a")
		o.commit(t.Context(), append(o.each(t, uuid.NewString()), refused)...)
		o.commit(t.Context(), o.full.start(t, uuid.NewString(), "a"))
		alone := []*attempt{o.others[0].start(t, uuid.NewString(), "a")}
		if err := o.starter.decide(t.Context(), alone, open); err != nil {
			t.Fatal(err)
		}
	}
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

// What is granted costs one round trip.
func TestGrantedStartsTakeOneRoundTrip(t *testing.T) {
	t.Parallel()
	o := observe(t)
	for name, batch := range map[string][]*attempt{
		"alone":                    {o.others[0].start(t, "a", "a")},
		"without a key":            {o.others[0].start(t, "", "a")},
		"of several organizations": o.each(t, "b"),
		"to the end of a quota":    {o.few.start(t, "c", "a")},
	} {
		if got := o.trips(t, batch, slices.Repeat([]string{"created"}, len(batch))...); got != 1 {
			t.Errorf("starts %s took %d round trips, want 1", name, got)
		}
	}
}

// An organization that is refused makes one batch give up its transaction, and no more.
func TestRefusedOrganizationsAreDoubted(t *testing.T) {
	t.Parallel()
	o := observe(t)
	created := slices.Repeat([]string{"created"}, len(o.others))
	refusedLast := append(slices.Clone(created), "quota_exceeded")
	o.trips(t, []*attempt{o.few.start(t, "a", "a")}, "created")
	if got := o.trips(t, append(o.each(t, "a"), o.few.start(t, "b", "a")), refusedLast...); got < 3 {
		t.Errorf("a batch that is refused unexpectedly took %d round trips, want more than 2", got)
	}
	o.prepareStatements(t)
	if got := o.trips(t, append(o.each(t, "b"), o.few.start(t, "c", "a")), refusedLast...); got != 2 {
		t.Errorf("the next batch took %d round trips, want 2", got)
	}
	if got := o.trips(t, o.each(t, "c"), created...); got != 1 {
		t.Errorf("a batch of the others took %d round trips, want 1", got)
	}

	more := int64(10)
	if err := o.users.SetRunQuota(t.Context(), o.few.principal.OrgID, &more); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got := o.trips(t, []*attempt{o.few.start(t, uuid.NewString(), "a")}, "created"); got != 2 {
			t.Errorf("soon after its refusal a start took %d round trips, want 2", got)
		}
	}
	o.starter.doubts.since[o.few.principal.OrgID] = time.Now().Add(-doubtAtLeast)
	for _, want := range []int64{2, 1} {
		if got := o.trips(t, []*attempt{o.few.start(t, uuid.NewString(), "a")}, "created"); got != want {
			t.Errorf("later a start took %d round trips, want %d", got, want)
		}
	}
}

// A key that another start has is no reason to wait, and leaves nothing of its batch behind.
func TestTakenKeysAreDoubted(t *testing.T) {
	t.Parallel()
	o := observe(t)
	tn := o.others[0]
	o.trips(t, []*attempt{tn.start(t, "a", "a")}, "created")
	before := o.counts(t, tn)
	o.trips(t, []*attempt{tn.start(t, "a", "a")}, "replayed")
	o.trips(t, []*attempt{tn.start(t, "a", "b"), tn.start(t, "b", "b")}, "idempotency_key_reused", "created")
	before.keys, before.submissions, before.runs, before.jobs, before.audits, before.used = before.keys+1,
		before.submissions+1, before.runs+1, before.jobs+1, before.audits+1, before.used+1
	o.checkCounts(t, tn, before)
	if !o.starter.doubts.about([]*attempt{tn.start(t, "c", "a")}) {
		t.Error("an organization whose key was taken is not doubted")
	}
}

func TestDoubtsAreBounded(t *testing.T) {
	t.Parallel()
	known := newDoubts()
	for range maxDoubts + 1 {
		a := new(attempt)
		a.run.Run.OrgID = uuid.New()
		a.refuse(errors.New("refused"))
		known.learn([]*attempt{a})
	}
	if got := len(known.since); got == 0 || got > maxDoubts {
		t.Errorf("%d organizations are doubted, want 1 to %d", got, maxDoubts)
	}
}
