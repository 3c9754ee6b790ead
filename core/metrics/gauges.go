package metrics

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// gaugesTimeout bounds the reading of a source.
const gaugesTimeout = 3 * time.Second

// Gauges are read from the database, and so are the same in every process.
type Gauges struct {
	// KeysByState counts unfinished keys up to a limit, and estimates the finished ones.
	KeysByState map[string]int64
	// OldestLocked is the age of the oldest unfinished key that is not dead.
	OldestLocked time.Duration
	// OutboxPending counts staged jobs that wait for the queue, up to a limit; OutboxOldest is the age of the oldest.
	OutboxPending int64
	OutboxOldest  time.Duration
	// DeadLetters counts staged jobs that the queue has refused for good.
	DeadLetters int64
	// RunsPending counts runs that wait for a worker, up to a limit; RunsOldestPending is the age of the oldest.
	RunsPending       int64
	RunsOldestPending time.Duration
	// RunsExecuting counts runs that a worker executes.
	RunsExecuting int64
	// WebhooksLate is how long the webhook has been due that has waited longest for a process. WebhooksFailing counts
	// those whose last attempt has failed, of Webhooks that are not disabled.
	WebhooksLate              time.Duration
	Webhooks, WebhooksFailing int64
	Roles                     []RoleGauges
	// LoopAges are the times since the last successful pass of each loop in any process.
	LoopAges map[string]time.Duration
}

// RoleGauges count the processes of a role.
type RoleGauges struct {
	Role string
	// Alive processes send heartbeats. Silent ones have stopped doing so without a successor.
	Alive, Silent int
}

// Source reads gauges from the database and from the queue, which may be away.
type Source struct {
	Database func(context.Context) (Gauges, error)
	// Archived counts the tasks in the queue that have failed for the last time.
	Archived func(context.Context) (int64, error)
}

// Collected collects the gauges of a source. Refresh reads them, and they are kept until the next reading: a scrape
// costs the database nothing.
type Collected struct {
	source   Source
	gauges   atomic.Pointer[Gauges]
	archived atomic.Pointer[int64]

	keys, oldestLocked, pending, oldestPending, dead, up       *prometheus.Desc
	runsPending, runsOldest, runsExecuting, processes, loopAge *prometheus.Desc
	webhooks, webhooksLate                                     *prometheus.Desc
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
			"Age of the oldest unfinished key that is not dead."),
		pending:       desc("sv_outbox_pending", "Staged jobs that wait for the queue, up to 10000."),
		oldestPending: desc("sv_outbox_oldest_age_seconds", "Age of the oldest staged job that waits for the queue."),
		dead:          desc("sv_jobs_dead", "Jobs that wait for an operator, by where they are.", "place"),
		runsPending:   desc("sv_runs_pending", "Runs that wait for a worker, up to 10000."),
		runsOldest:    desc("sv_runs_oldest_pending_age_seconds", "Age of the oldest run that waits for a worker."),
		runsExecuting: desc("sv_runs_executing", "Runs that are executed, up to 10000."),
		webhooks: desc("sv_webhooks",
			"Webhooks that are not disabled, by whether their last attempt has failed.", "state"),
		webhooksLate: desc("sv_webhooks_late_seconds",
			"How long a webhook has been due that no process delivers to."),
		processes: desc("sv_processes", "Processes by role, alive or silent without a successor.", "role",
			"state"),
		loopAge: desc("sv_loop_last_success_age_seconds",
			"Time since the last successful pass of a loop in any process.", "loop"),
		up: desc("sv_figures_up", "Whether the last reading of a source was successful.", "source"),
	}
}

// Refresh reads the gauges. One that could not be read is not collected, because an old value looks like a current one.
func (c *Collected) Refresh(ctx context.Context) error {
	return errors.Join(refresh(ctx, &c.gauges, c.source.Database), refresh(ctx, &c.archived, c.source.Archived))
}

// refresh reads one source in a time of its own, so that a database that hangs does not pass for a queue that is away.
func refresh[T any](ctx context.Context, slot *atomic.Pointer[T], read func(context.Context) (T, error)) error {
	ctx, cancel := context.WithTimeout(ctx, gaugesTimeout)
	defer cancel()
	value, err := read(ctx)
	if err != nil {
		slot.Store(nil)
		return err
	}
	slot.Store(&value)
	return nil
}

// Describe sends the descriptions of the gauges.
func (c *Collected) Describe(descs chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{
		c.keys, c.oldestLocked, c.pending, c.oldestPending, c.dead, c.up,
		c.runsPending, c.runsOldest, c.runsExecuting, c.processes, c.loopAge, c.webhooks, c.webhooksLate,
	} {
		descs <- desc
	}
}

// Collect sends the gauges of the last reading.
func (c *Collected) Collect(metrics chan<- prometheus.Metric) {
	send := func(desc *prometheus.Desc, value float64, labels ...string) {
		metrics <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	gauges, archived := c.gauges.Load(), c.archived.Load()
	send(c.up, isUp(gauges != nil), "database")
	send(c.up, isUp(archived != nil), "queue")
	if archived != nil {
		send(c.dead, float64(*archived), "queue")
	}
	if gauges == nil {
		return
	}
	for state, count := range gauges.KeysByState {
		send(c.keys, float64(count), state)
	}
	send(c.oldestLocked, gauges.OldestLocked.Seconds())
	send(c.pending, float64(gauges.OutboxPending))
	send(c.oldestPending, gauges.OutboxOldest.Seconds())
	send(c.dead, float64(gauges.DeadLetters), "outbox")
	send(c.runsPending, float64(gauges.RunsPending))
	send(c.runsOldest, gauges.RunsOldestPending.Seconds())
	send(c.runsExecuting, float64(gauges.RunsExecuting))
	send(c.webhooks, float64(gauges.Webhooks-gauges.WebhooksFailing), "working")
	send(c.webhooks, float64(gauges.WebhooksFailing), "failing")
	send(c.webhooksLate, gauges.WebhooksLate.Seconds())
	for _, role := range gauges.Roles {
		send(c.processes, float64(role.Alive), role.Role, "alive")
		send(c.processes, float64(role.Silent), role.Role, "silent")
	}
	for loop, age := range gauges.LoopAges {
		send(c.loopAge, age.Seconds(), loop)
	}
}

func isUp(read bool) float64 {
	if read {
		return 1
	}
	return 0
}
