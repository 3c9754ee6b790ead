package idempotency

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
)

// maxTracked bounds how many keys are counted between two flushes; what goes beyond is not counted.
const maxTracked = 100_000

// Activity counts in memory what keys are asked for after their first use: for each key, and for each organization
// together with the keys that were misnamed. It also counts, by the hour, how long new starts took.
type Activity struct {
	mu     sync.Mutex
	counts counts
}

// counts are what was counted since the last flush.
type counts struct {
	keys  map[trackedKey]tally
	days  map[uuid.UUID]dayTally
	hours map[uuid.UUID]*hourTally
}

func newCounts() counts {
	return counts{
		keys: make(map[trackedKey]tally), days: make(map[uuid.UUID]dayTally), hours: make(map[uuid.UUID]*hourTally),
	}
}

type trackedKey struct {
	orgID uuid.UUID
	keyID uuid.UUID
}

// tally is what one key was asked for since the last flush.
type tally struct {
	trackedKey
	replays, mismatches, conflicts int64
}

// dayTally is what an organization's requests met with their keys since the last flush.
type dayTally struct {
	orgID                                  uuid.UUID
	replayed, inProgress, reused, misnamed int64
}

// NewActivity makes an Activity; a loop has to call Flush.
func NewActivity() *Activity {
	return &Activity{counts: newCounts()}
}

// note counts what a request has got from a key that somebody else had: a replay of the record, or the refusal
// err. The record is nil where the other's claim is not committed. A retry that goes on with an abandoned
// request is neither.
func (a *Activity) note(orgID uuid.UUID, record *Record, err error) {
	met := dayTally{orgID: orgID}
	switch {
	case err == nil:
		met.replayed = 1
	case core.AsError(err).Code == core.CodeKeyReused:
		met.reused = 1
	case core.AsError(err).Code == core.CodeKeyInProgress && (record == nil || !record.Abandoned()):
		met.inProgress = 1
	default:
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.counts.addDay(met)
	if record == nil {
		return
	}
	a.counts.addKey(tally{
		trackedKey: trackedKey{orgID: orgID, keyID: record.ID},
		replays:    met.replayed, mismatches: met.reused, conflicts: met.inProgress,
	})
	if err == nil && record.Subject != uuid.Nil {
		a.counts.hour(orgID).replays++
	}
}

// noteMisnamed counts a request whose key came under another name.
func (a *Activity) noteMisnamed(orgID uuid.UUID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.counts.addDay(dayTally{orgID: orgID, misnamed: 1})
}

// noteStart counts how long a new start took.
func (a *Activity) noteStart(orgID uuid.UUID, took time.Duration) {
	bucket := bucketOf(took)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.counts.hour(orgID).took[bucket]++
}

func (a *Activity) take() counts {
	a.mu.Lock()
	defer a.mu.Unlock()
	taken := a.counts
	a.counts = newCounts()
	return taken
}

// restore counts again what was taken and certainly not written.
func (a *Activity) restore(taken counts) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, key := range taken.keys {
		a.counts.addKey(key)
	}
	for _, day := range taken.days {
		a.counts.addDay(day)
	}
	for orgID, hour := range taken.hours {
		a.counts.hour(orgID).add(hour)
	}
}

func (c *counts) addKey(met tally) {
	sum, ok := c.keys[met.trackedKey]
	if !ok && len(c.keys) >= maxTracked {
		return
	}
	sum.trackedKey = met.trackedKey
	sum.replays += met.replays
	sum.mismatches += met.mismatches
	sum.conflicts += met.conflicts
	c.keys[met.trackedKey] = sum
}

func (c *counts) addDay(met dayTally) {
	sum := c.days[met.orgID]
	sum.orgID = met.orgID
	sum.replayed += met.replayed
	sum.inProgress += met.inProgress
	sum.reused += met.reused
	sum.misnamed += met.misnamed
	c.days[met.orgID] = sum
}

// hour is the tally of an organization, to be added to.
func (c *counts) hour(orgID uuid.UUID) *hourTally {
	sum, ok := c.hours[orgID]
	if !ok {
		sum = newHourTally(orgID)
		c.hours[orgID] = sum
	}
	return sum
}

// Flush writes what was counted since the last call. It always catches up, so it returns 0: there is no
// reason to call it again at once. Counts that certainly were not written are kept for the next call. Where nobody
// knows, they are given up, so that nothing is counted twice.
func (a *Activity) Flush(ctx context.Context, database *db.DB) (int, error) {
	taken := a.take()
	if len(taken.days) == 0 && len(taken.hours) == 0 {
		return 0, nil
	}
	_, err := db.InTx(ctx, database, func(tx db.Tx) (struct{}, error) {
		batch := tx.NewBatch()
		queueKeys(batch, slices.Collect(maps.Values(taken.keys)))
		queueDays(batch, slices.Collect(maps.Values(taken.days)))
		queueHours(batch, slices.Collect(maps.Values(taken.hours)))
		return struct{}{}, batch.Send(ctx)
	})
	if err != nil {
		if !errors.Is(err, db.ErrOutcomeUnknown) {
			a.restore(taken)
		}
		return 0, fmt.Errorf("write the activity of keys: %w", err)
	}
	return 0, nil
}

func queueKeys(batch *db.Batch, counted []tally) {
	batch.Queue(`
		INSERT INTO key_activity AS a (org_id, key_id, replays, mismatches, conflicts, last_replay_at, last_refusal_at)
		SELECT org_id, key_id, replays, mismatches, conflicts, CASE WHEN replays > 0 THEN now() END,
			CASE WHEN mismatches + conflicts > 0 THEN now() END
		FROM unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::bigint[], $5::bigint[])
			AS c (org_id, key_id, replays, mismatches, conflicts)
		ORDER BY org_id, key_id
		ON CONFLICT ON CONSTRAINT key_activity_pkey DO UPDATE SET replays = a.replays + excluded.replays,
			mismatches = a.mismatches + excluded.mismatches, conflicts = a.conflicts + excluded.conflicts,
			last_replay_at = coalesce(excluded.last_replay_at, a.last_replay_at),
			last_refusal_at = coalesce(excluded.last_refusal_at, a.last_refusal_at)`,
		db.Column(counted, func(t *tally) uuid.UUID { return t.orgID }),
		db.Column(counted, func(t *tally) uuid.UUID { return t.keyID }),
		db.Column(counted, func(t *tally) int64 { return t.replays }),
		db.Column(counted, func(t *tally) int64 { return t.mismatches }),
		db.Column(counted, func(t *tally) int64 { return t.conflicts }))
}

func queueDays(batch *db.Batch, counted []dayTally) {
	batch.Queue(`
		INSERT INTO key_activity_days AS a (org_id, day, replayed, in_progress, reused, misnamed)
		SELECT org_id, now() AT TIME ZONE 'UTC', replayed, in_progress, reused, misnamed
		FROM unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[])
			AS c (org_id, replayed, in_progress, reused, misnamed)
		ORDER BY org_id
		ON CONFLICT ON CONSTRAINT key_activity_days_pkey DO UPDATE SET replayed = a.replayed + excluded.replayed,
			in_progress = a.in_progress + excluded.in_progress, reused = a.reused + excluded.reused,
			misnamed = a.misnamed + excluded.misnamed`,
		db.Column(counted, func(t *dayTally) uuid.UUID { return t.orgID }),
		db.Column(counted, func(t *dayTally) int64 { return t.replayed }),
		db.Column(counted, func(t *dayTally) int64 { return t.inProgress }),
		db.Column(counted, func(t *dayTally) int64 { return t.reused }),
		db.Column(counted, func(t *dayTally) int64 { return t.misnamed }))
}
