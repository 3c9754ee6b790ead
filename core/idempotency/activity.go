package idempotency

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
)

// maxTracked bounds how many keys are counted between two flushes; what goes beyond is not counted.
const maxTracked = 100_000

// Activity counts in memory what keys are asked for after their first use: for each key, and for each
// organization together with the keys that were misnamed.
type Activity struct {
	mu     sync.Mutex
	counts map[trackedKey]tally
	today  map[uuid.UUID]dayTally
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
	return &Activity{counts: make(map[trackedKey]tally), today: make(map[uuid.UUID]dayTally)}
}

// note counts what a request has got from a key that somebody else had: a replay of the record, or the refusal
// err. The record is nil where the other's claim is not committed. A retry that goes on with an abandoned
// request is neither.
func (a *Activity) note(orgID uuid.UUID, record *Record, err error) {
	var met dayTally
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
	a.addToday(orgID, met)
	if record != nil {
		a.addKey(trackedKey{orgID: orgID, keyID: record.ID}, met)
	}
}

// noteMisnamed counts a request whose key came under another name.
func (a *Activity) noteMisnamed(orgID uuid.UUID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.addToday(orgID, dayTally{misnamed: 1})
}

func (a *Activity) addToday(orgID uuid.UUID, met dayTally) {
	counted := a.today[orgID]
	counted.orgID = orgID
	counted.replayed += met.replayed
	counted.inProgress += met.inProgress
	counted.reused += met.reused
	counted.misnamed += met.misnamed
	a.today[orgID] = counted
}

func (a *Activity) addKey(key trackedKey, met dayTally) {
	counted, ok := a.counts[key]
	if !ok && len(a.counts) >= maxTracked {
		return
	}
	counted.trackedKey = key
	counted.replays += met.replayed
	counted.mismatches += met.reused
	counted.conflicts += met.inProgress
	a.counts[key] = counted
}

func (a *Activity) take() ([]tally, []dayTally) {
	a.mu.Lock()
	defer a.mu.Unlock()
	keys, days := slices.Collect(maps.Values(a.counts)), slices.Collect(maps.Values(a.today))
	clear(a.counts)
	clear(a.today)
	return keys, days
}

// Flush writes what was counted since the last call. It always catches up, so it returns 0: there is no
// reason to call it again at once. Counts that cannot be written are lost.
func (a *Activity) Flush(ctx context.Context, db *core.DB) (int, error) {
	keys, days := a.take()
	if len(days) == 0 {
		return 0, nil
	}
	_, err := core.InTx(ctx, db, func(tx core.Tx) (struct{}, error) {
		batch := tx.NewBatch()
		queueTallies(batch, keys)
		queueDays(batch, days)
		return struct{}{}, batch.Send(ctx)
	})
	if err != nil {
		return 0, fmt.Errorf("write the activity of keys: %w", err)
	}
	return 0, nil
}

func queueTallies(batch *core.Batch, counted []tally) {
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
		core.Column(counted, func(t *tally) uuid.UUID { return t.orgID }),
		core.Column(counted, func(t *tally) uuid.UUID { return t.keyID }),
		core.Column(counted, func(t *tally) int64 { return t.replays }),
		core.Column(counted, func(t *tally) int64 { return t.mismatches }),
		core.Column(counted, func(t *tally) int64 { return t.conflicts }))
}

func queueDays(batch *core.Batch, counted []dayTally) {
	batch.Queue(`
		INSERT INTO key_activity_days AS a (org_id, day, replayed, in_progress, reused, misnamed)
		SELECT org_id, now() AT TIME ZONE 'UTC', replayed, in_progress, reused, misnamed
		FROM unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[])
			AS c (org_id, replayed, in_progress, reused, misnamed)
		ORDER BY org_id
		ON CONFLICT ON CONSTRAINT key_activity_days_pkey DO UPDATE SET replayed = a.replayed + excluded.replayed,
			in_progress = a.in_progress + excluded.in_progress, reused = a.reused + excluded.reused,
			misnamed = a.misnamed + excluded.misnamed`,
		core.Column(counted, func(t *dayTally) uuid.UUID { return t.orgID }),
		core.Column(counted, func(t *dayTally) int64 { return t.replayed }),
		core.Column(counted, func(t *dayTally) int64 { return t.inProgress }),
		core.Column(counted, func(t *dayTally) int64 { return t.reused }),
		core.Column(counted, func(t *dayTally) int64 { return t.misnamed }))
}
