package admin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/flush"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/core/metrics"
)

// maxTracked is the most keys that are counted between two flushes. Further keys are not counted one by one, so that a
// flood of replays cannot fill the memory.
const maxTracked = 100_000

// Activity is the Recorder of the engine's Guard. It counts in memory, because a replay that writes a row would cost as
// much as a start, and flushes to three tables: the repetitions of each key, of each organization by the day, and the
// times of an organization's starts by the hour.
type Activity struct {
	counted *flush.Collector[*counts]
}

var _ idempotency.Recorder = (*Activity)(nil)

// NewActivity makes an Activity. A loop has to call Flush.
func NewActivity() *Activity {
	return &Activity{counted: flush.NewCollector(newCounts)}
}

// Repeated counts a replay or a refusal. A retry that resumes an abandoned request is neither.
func (a *Activity) Repeated(orgID uuid.UUID, record *idempotency.Record, err error) {
	day := dayCounts{orgID: orgID}
	switch {
	case err == nil:
		day.replayed = 1
	case errors.Is(err, api.CodeKeyReused):
		day.reused = 1
	case errors.Is(err, api.CodeKeyInProgress) && (record == nil || !record.Abandoned()):
		day.inProgress = 1
	default:
		return
	}
	a.counted.Collect(func(c *counts) { c.addRepetition(day, record, err) })
}

// counts are what was counted since the last flush.
type counts struct {
	keys  map[keyID]keyCounts
	days  map[uuid.UUID]dayCounts
	hours map[uuid.UUID]*hourCounts
}

func newCounts() *counts {
	return &counts{
		keys:  make(map[keyID]keyCounts),
		days:  make(map[uuid.UUID]dayCounts),
		hours: make(map[uuid.UUID]*hourCounts),
	}
}

// addRepetition counts a repetition for the day and, where the key's record is known, for the key.
func (c *counts) addRepetition(day dayCounts, record *idempotency.Record, err error) {
	c.addDay(day)
	if record == nil {
		return
	}
	key := keyCounts{
		keyID:   keyID{orgID: day.orgID, id: record.ID},
		replays: day.replayed, mismatches: day.reused, conflicts: day.inProgress,
	}
	if err == nil {
		key.lastReplay = time.Now()
	} else {
		key.lastRefusal = time.Now()
	}
	c.addKey(key)
	// Only a replay of a request that has created something has avoided a second creation.
	if err == nil && record.Subject != uuid.Nil {
		c.hour(day.orgID).replays++
	}
}

// Misnamed counts a request whose key came under another name.
func (a *Activity) Misnamed(orgID uuid.UUID) {
	a.counted.Collect(func(c *counts) { c.addDay(dayCounts{orgID: orgID, misnamed: 1}) })
}

// Accepted counts how long a new start took.
func (a *Activity) Accepted(orgID uuid.UUID, took time.Duration) {
	// Outside of the lock, because every start of the process passes here.
	bucket := bucketOf(took)
	a.counted.Collect(func(c *counts) { c.hour(orgID).took[bucket]++ })
}

// Flush writes what was counted since the last call (flush.Collector).
func (a *Activity) Flush(ctx context.Context, database *db.DB) (int, error) {
	return a.counted.Flush(ctx, func(ctx context.Context, taken *counts) error {
		if err := writeCounts(ctx, database, taken); err != nil {
			return fmt.Errorf("write the activity of keys: %w", err)
		}
		return nil
	})
}

// Empty reports whether nothing was counted.
func (c *counts) Empty() bool { return len(c.days) == 0 && len(c.hours) == 0 }

// Restore adds counts that were taken and not written to those that have come meanwhile.
func (c *counts) Restore(taken *counts) {
	for _, key := range taken.keys {
		c.addKey(key)
	}
	for _, day := range taken.days {
		c.addDay(day)
	}
	for orgID, hour := range taken.hours {
		c.hour(orgID).add(hour)
	}
}

// keyID identifies a use of a key. A key that is used again after its expiry has another id.
type keyID struct {
	orgID uuid.UUID
	id    uuid.UUID
}

// keyCounts are the repetitions of one key.
type keyCounts struct {
	keyID
	replays, mismatches, conflicts int64
	// lastReplay and lastRefusal are read from the process's clock; zero where there was none. Only their age is
	// written, because the clocks of processes differ.
	lastReplay, lastRefusal time.Time
}

func (c *counts) addKey(key keyCounts) {
	sum, ok := c.keys[key.keyID]
	// A known key is still counted: the flood may be of one key.
	if !ok && len(c.keys) >= maxTracked {
		return
	}
	sum.keyID = key.keyID
	sum.replays += key.replays
	sum.mismatches += key.mismatches
	sum.conflicts += key.conflicts
	sum.lastReplay = later(sum.lastReplay, key.lastReplay)
	sum.lastRefusal = later(sum.lastRefusal, key.lastRefusal)
	c.keys[key.keyID] = sum
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// dayCounts are what an organization's requests got from their keys.
type dayCounts struct {
	orgID                                  uuid.UUID
	replayed, inProgress, reused, misnamed int64
}

func (c *counts) addDay(day dayCounts) {
	sum := c.days[day.orgID]
	sum.orgID = day.orgID
	sum.replayed += day.replayed
	sum.inProgress += day.inProgress
	sum.reused += day.reused
	sum.misnamed += day.misnamed
	c.days[day.orgID] = sum
}

// hourCounts are the starts of an organization.
type hourCounts struct {
	orgID   uuid.UUID
	replays int64
	// took counts new starts by duration: one count for each of metrics.StartBounds, and one beyond the last.
	took []int64
}

// hour returns the counts of an organization, to be added to.
func (c *counts) hour(orgID uuid.UUID) *hourCounts {
	sum, ok := c.hours[orgID]
	if !ok {
		sum = &hourCounts{orgID: orgID, took: make([]int64, buckets())}
		c.hours[orgID] = sum
	}
	return sum
}

func (h *hourCounts) add(other *hourCounts) {
	h.replays += other.replays
	for bucket, n := range other.took {
		h.took[bucket] += n
	}
}

// buckets is how many counts hourCounts.took has. A constraint of start_hours checks the same number.
func buckets() int { return len(metrics.StartBounds()) + 1 }

// bucketOf returns the index of a duration among the counts of hourCounts.took.
func bucketOf(took time.Duration) int {
	bucket, _ := slices.BinarySearch(metrics.StartBounds(), took)
	return bucket
}
