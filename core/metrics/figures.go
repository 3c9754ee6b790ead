package metrics

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// figuresTimeout bounds the reading of the figures.
const figuresTimeout = 3 * time.Second

// Figures is what only the database knows, which is the same whatever process reads it.
type Figures struct {
	// KeysByState counts unfinished keys up to a limit, and estimates the finished ones.
	KeysByState map[string]int64
	// OldestLocked is how old the oldest unfinished key is that is not left to people.
	OldestLocked time.Duration
	// OutboxPending counts staged jobs that wait for the queue, up to a limit; OutboxOldest is the age of the oldest.
	OutboxPending int64
	OutboxOldest  time.Duration
	// JobsParked counts staged jobs that the queue did not take.
	JobsParked int64
}

// Source is where figures are read: the database, and the queue that may be away.
type Source struct {
	Database func(context.Context) (Figures, error)
	// Archived counts the tasks in the queue that have failed for the last time.
	Archived func(context.Context) (int64, error)
}

// Collected collects the figures of a source. They are read by Refresh and kept until the next reading, so that no
// scrape waits for the database, and any number of them costs it nothing.
type Collected struct {
	source   Source
	figures  atomic.Pointer[Figures]
	archived atomic.Pointer[int64]

	keys, oldestLocked, pending, oldestPending, dead, up *prometheus.Desc
}

// NewCollected makes a Collected; a loop has to call Refresh.
func NewCollected(source Source) *Collected {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, labels, nil)
	}
	return &Collected{
		source: source,
		keys: desc("sv_idempotency_keys",
			"Idempotency keys by state; unfinished ones up to 10000, finished ones estimated.", "state"),
		oldestLocked: desc("sv_idempotency_oldest_locked_age_seconds",
			"Age of the oldest key whose request has not ended and is not left to people."),
		pending:       desc("sv_outbox_pending", "Staged jobs that wait for the queue, up to 10000."),
		oldestPending: desc("sv_outbox_oldest_age_seconds", "Age of the oldest staged job that waits for the queue."),
		dead:          desc("sv_jobs_dead", "Jobs that are left to people, by where they are.", "place"),
		up:            desc("sv_figures_up", "Whether the last reading of a source was successful.", "source"),
	}
}

// Refresh reads the figures. What could not be read is not collected, because old figures look like good ones.
func (c *Collected) Refresh(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, figuresTimeout)
	defer cancel()
	figures, databaseErr := c.source.Database(ctx)
	keep(&c.figures, figures, databaseErr)
	archived, queueErr := c.source.Archived(ctx)
	keep(&c.archived, archived, queueErr)
	return errors.Join(databaseErr, queueErr)
}

func keep[T any](place *atomic.Pointer[T], value T, err error) {
	if err != nil {
		place.Store(nil)
		return
	}
	place.Store(&value)
}

// Describe tells what is collected.
func (c *Collected) Describe(descs chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{c.keys, c.oldestLocked, c.pending, c.oldestPending, c.dead, c.up} {
		descs <- desc
	}
}

// Collect tells the figures of the last reading.
func (c *Collected) Collect(metrics chan<- prometheus.Metric) {
	send := func(desc *prometheus.Desc, value float64, labels ...string) {
		metrics <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	figures, archived := c.figures.Load(), c.archived.Load()
	send(c.up, isUp(figures != nil), "database")
	send(c.up, isUp(archived != nil), "queue")
	if archived != nil {
		send(c.dead, float64(*archived), "queue")
	}
	if figures == nil {
		return
	}
	for state, count := range figures.KeysByState {
		send(c.keys, float64(count), state)
	}
	send(c.oldestLocked, figures.OldestLocked.Seconds())
	send(c.pending, float64(figures.OutboxPending))
	send(c.oldestPending, figures.OutboxOldest.Seconds())
	send(c.dead, float64(figures.JobsParked), "outbox")
}

func isUp(read bool) float64 {
	if read {
		return 1
	}
	return 0
}
