package idempotency

import (
	"context"
	"fmt"
	"sync"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
)

// maxTracked bounds how many keys are counted between two flushes; what goes beyond is not counted.
const maxTracked = 100_000

// Activity counts in memory what keys are asked for after their first use.
type Activity struct {
	mu     sync.Mutex
	counts map[trackedKey]tally
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

// NewActivity makes an Activity; a loop has to call Flush.
func NewActivity() *Activity {
	return &Activity{counts: make(map[trackedKey]tally)}
}

// note counts what a request has got from a key: a replay, or the refusal err. A retry that goes on with an
// abandoned request is neither.
func (a *Activity) note(record Record, err error) {
	var replays, mismatches, conflicts int64
	switch {
	case err == nil:
		replays = 1
	case core.AsError(err).Code == core.CodeKeyReused:
		mismatches = 1
	case core.AsError(err).Code == core.CodeKeyInProgress && !record.Abandoned():
		conflicts = 1
	default:
		return
	}
	key := trackedKey{orgID: record.OrgID, keyID: record.ID}
	a.mu.Lock()
	defer a.mu.Unlock()
	counted, ok := a.counts[key]
	if !ok && len(a.counts) >= maxTracked {
		return
	}
	counted.trackedKey = key
	counted.replays += replays
	counted.mismatches += mismatches
	counted.conflicts += conflicts
	a.counts[key] = counted
}

func (a *Activity) take() []tally {
	a.mu.Lock()
	defer a.mu.Unlock()
	taken := make([]tally, 0, len(a.counts))
	for _, counted := range a.counts {
		taken = append(taken, counted)
	}
	a.counts = make(map[trackedKey]tally)
	return taken
}

// Flush writes what was counted since the last call. It always catches up, so it returns 0: there is no
// reason to call it again at once. Counts that cannot be written are lost.
func (a *Activity) Flush(ctx context.Context, db *core.DB) (int, error) {
	counted := a.take()
	if len(counted) == 0 {
		return 0, nil
	}
	_, err := db.Pool.Exec(ctx, `
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
	if err != nil {
		return 0, fmt.Errorf("write the activity of keys: %w", err)
	}
	return 0, nil
}
