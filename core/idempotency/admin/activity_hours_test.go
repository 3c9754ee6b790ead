package admin_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/coretest/pgproxy"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/core/idempotency/admin"
	"github.com/simplevalidations/simplevalidations/core/metrics"
)

// process is a process with an activity of its own.
type process struct {
	*admin.Activity
	*idempotency.Guard
}

func newProcess(database *db.DB) process {
	activity := admin.NewActivity()
	return process{
		Activity: activity, Guard: idempotency.NewGuard(database, time.Hour, nil, activity, metrics.New("").Keys),
	}
}

// startRecord is a key whose request has started a run.
func startRecord(org uuid.UUID) idempotency.Record {
	record := finishedRecord(org)
	record.Subject = uuid.Must(uuid.NewV7())
	return record
}

func (p process) mustReplay(tb testing.TB, record idempotency.Record) {
	tb.Helper()
	if _, err := p.Answer(record, record.Fingerprint); err != nil {
		tb.Errorf("replay: %v", err)
	}
}

// hours is what is stored about the organization's starts: all replays, and the new starts by bucket.
type hours struct {
	Replays int64
	Took    map[int]int64
}

// hoursOf reads the hours of two days. There is one, or two where the test ran over the end of the first.
func hoursOf(tb testing.TB, database *db.DB, org uuid.UUID) hours {
	tb.Helper()
	found, err := admin.NewInspector(database, 1, nil).Hours(tb.Context(), org, time.Now().Add(-48*time.Hour))
	if err != nil {
		tb.Fatal(err)
	}
	sum := hours{Took: make(map[int]int64)}
	for hour, replays := range found.Replays {
		if since := time.Since(hour); since < -time.Minute || since > 2*time.Hour {
			tb.Errorf("hour = %s, want the present one", hour)
		}
		sum.Replays += replays
	}
	for bucket, n := range found.Took {
		if n > 0 {
			sum.Took[bucket] = n
		}
	}
	return sum
}

func wantHours(tb testing.TB, database *db.DB, org uuid.UUID, want hours) {
	tb.Helper()
	if diff := cmp.Diff(want, hoursOf(tb, database, org)); diff != "" {
		tb.Errorf("hours (-want +got):\n%s", diff)
	}
}

func TestHours(t *testing.T) {
	t.Parallel()
	database := coretest.OpenDatabase(t)

	t.Run("AddUpOverProcesses", func(t *testing.T) {
		t.Parallel()
		const rounds = 500
		org, other := uuid.New(), uuid.New()
		var counting sync.WaitGroup
		for range 2 {
			p := newProcess(database)
			p.Guard.Accepted(other, time.Second)
			for range 4 {
				counting.Go(func() {
					record := startRecord(org)
					for range rounds {
						p.mustReplay(t, record)
						p.Guard.Accepted(org, 3*time.Millisecond)
					}
					mustFlush(t, p.Activity, database)
				})
			}
		}
		counting.Wait()
		wantHours(t, database, org, hours{Replays: 8 * rounds, Took: map[int]int64{2: 8 * rounds}})
		wantHours(t, database, other, hours{Took: map[int]int64{9: 2}})
		wantHours(t, database, uuid.New(), hours{Took: map[int]int64{}})
	})

	t.Run("SeparateStartsByTheBounds", func(t *testing.T) {
		t.Parallel()
		org, p := uuid.New(), newProcess(database)
		bounds := metrics.StartBounds()
		want := hours{Took: map[int]int64{0: 2, len(bounds): 2}}
		for i, bound := range bounds {
			p.Guard.Accepted(org, bound)
			p.Guard.Accepted(org, bound+1)
			if i > 0 {
				want.Took[i] = 2
			}
		}
		p.Guard.Accepted(org, 0)
		p.Guard.Accepted(org, time.Hour)
		mustFlush(t, p.Activity, database)
		mustFlush(t, p.Activity, database)
		wantHours(t, database, org, want)
	})

	t.Run("CountNoReplayThatAvoidsNoRun", func(t *testing.T) {
		t.Parallel()
		org, p := uuid.New(), newProcess(database)
		p.mustReplay(t, finishedRecord(org))
		record := startRecord(org)
		_, err := p.Answer(record, newClaim(org, "k", "b").Fingerprint)
		checkCode(t, err, api.CodeKeyReused)
		mustFlush(t, p.Activity, database)
		wantHours(t, database, org, hours{Took: map[int]int64{}})
	})
}

func TestFlushThatFails(t *testing.T) {
	t.Parallel()

	t.Run("KeepsWhatWasNotWritten", func(t *testing.T) {
		t.Parallel()
		database := coretest.OpenDatabase(t)
		org, p := uuid.New(), newProcess(database)
		record := startRecord(org)
		p.mustReplay(t, record)
		p.Guard.Accepted(org, time.Millisecond)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := p.Flush(ended, database); err == nil {
			t.Error("flushed after its context, want an error")
		}
		p.mustReplay(t, record)
		mustFlush(t, p.Activity, database)
		wantHours(t, database, org, hours{Replays: 2, Took: map[int]int64{0: 1}})
		if got, _ := activityOf(t, database, record.ID); got.Replays != 2 {
			t.Errorf("replays of the key = %d, want 2", got.Replays)
		}
		days, err := admin.NewInspector(database, 1, nil).Days(t.Context(), org)
		if err != nil {
			t.Fatal(err)
		}
		if got := days[0].Replayed + days[1].Replayed; got != 2 {
			t.Errorf("replays of the day = %d, want 2", got)
		}
	})

	t.Run("CountsNothingTwice", func(t *testing.T) {
		t.Parallel()
		address := coretest.DatabaseURL(t)
		proxy := pgproxy.Start(t, address)
		database, direct := coretest.Connect(t, proxy.URL()), coretest.Connect(t, address)
		proxy.Watch(func(pgproxy.Commit) pgproxy.Fault { return pgproxy.Fault{Swallow: true} })
		org, p := uuid.New(), newProcess(database)
		p.Guard.Accepted(org, time.Millisecond)
		if _, err := p.Flush(t.Context(), database); !errors.Is(err, db.ErrOutcomeUnknown) {
			t.Fatalf("flush = %v, want an unknown outcome", err)
		}
		mustFlush(t, p.Activity, direct)
		wantHours(t, direct, org, hours{Took: map[int]int64{0: 1}})
	})
}
