package main

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// course is what the measurements have in common.
type course struct {
	options   options
	world     *world
	meter     meter
	yardstick yardstick
	show      *progress
	// rows are the starts and replays beside pgbench, which get tables of their own, as the verdicts do.
	rows        []row
	verdictRows []verdictRow
}

// results are all that was measured.
type results struct {
	rows     []row
	verdicts []verdictRow
	goals    []goal
}

// scenario measures some lines of the table of targets. Each begins with the same small tables.
type scenario struct {
	name  string
	title string
	run   func(*course, context.Context) ([]goal, error)
}

func scenarios() []scenario {
	return []scenario{
		{"verdicts", "runs from their start to their verdict", (*course).measureVerdicts},
		{"young", "a young database and a settled one", (*course).measureYoung},
		{"river", "the same service on River", (*course).measureRiver},
		{"backlog", "starts beside a backlog", (*course).measureBacklog},
		{"idle", "a service that nobody calls", (*course).measureIdle},
		{"rates", "starts and replays beside pgbench", (*course).measureRates},
		{"replays", "replays beside a bare handler", (*course).measureReplays},
		{"requestlog", "starts and replays with and without the request log", (*course).measureRequestLog},
		{"quota", "organizations over their quota beside others", (*course).measureQuota},
		{"wait", "runs that are waited for", (*course).measureWait},
		{"queue", "runs through the queue", (*course).measureQueue},
		{"memory", "memory under load and of large documents", (*course).measureMemory},
		{"purge", "purging expired keys beside starts", (*course).measurePurge},
		{"growth", "growing tables", (*course).measureGrowth},
	}
}

// measureAll runs the chosen scenarios, and checks all rows after each.
func measureAll(ctx context.Context, opts options, w *world, show *progress) (results, error) {
	m, err := newMeter(w.service.pid(), w.postgres.Dir())
	if err != nil {
		return results{}, err
	}
	bench, err := newYardstick(ctx, w, m)
	if err != nil {
		return results{}, err
	}
	c := &course{options: opts, world: w, meter: m, yardstick: bench, show: show}
	goals, err := c.measure(ctx)
	return results{rows: c.rows, verdicts: c.verdictRows, goals: goals}, err
}

// measure runs the parts that are wanted. An error ends it, with the goals of the parts before.
func (c *course) measure(ctx context.Context) ([]goal, error) {
	var goals []goal
	for _, s := range scenarios() {
		if !c.options.wants(s.name) {
			continue
		}
		c.show.say("next: " + s.title)
		if err := c.world.reset(ctx); err != nil {
			return goals, err
		}
		found, err := s.run(c, ctx)
		if err != nil {
			return goals, fmt.Errorf("%s: %w", s.title, err)
		}
		goals = append(goals, found...)
		c.show.say("checking runs, keys and usage")
		if err := check(ctx, c.world.db, c.world.tenants); err != nil {
			return goals, fmt.Errorf("%s: %w", s.title, err)
		}
	}
	return goals, nil
}

// service is the load on the service.
func (c *course) service() loader {
	return loader{address: c.world.address, tenants: c.world.tenants, meter: c.meter}
}

// sample measures once, when nothing of the measurement before is left.
func (c *course) sample(ctx context.Context, by measurer, what work, clients int) (sample, error) {
	if err := c.world.settle(ctx); err != nil {
		return sample{}, err
	}
	return by.measure(ctx, what, clients, c.options.duration)
}

// reset empties the tables that starts write and makes the first runs anew. The statistics are those of the few rows,
// as plans that were made for a table without rows stay until the next ones.
func (w *world) reset(ctx context.Context) error {
	if err := w.settle(ctx); err != nil {
		return err
	}
	if _, err := w.db.Exec(ctx, `TRUNCATE idempotency_keys, validation_runs, submissions, staged_jobs, audit_records,
		usage_counters, key_activity, request_log, filled CASCADE`); err != nil {
		return fmt.Errorf("empty tables: %w", err)
	}
	for _, t := range w.tenants {
		t.acknowledged.Store(0)
	}
	answer, err := prime(ctx, w.address, w.tenants)
	if err != nil {
		return err
	}
	w.sampleAnswer = answer
	return analyze(ctx, w.db)
}

// analyze does what the server would do by itself within minutes.
func analyze(ctx context.Context, db *pgx.Conn) error {
	if _, err := db.Exec(ctx, "VACUUM ANALYZE"); err != nil {
		return fmt.Errorf("gather statistics: %w", err)
	}
	if _, err := db.Exec(ctx, "CHECKPOINT"); err != nil {
		return fmt.Errorf("write what is dirty: %w", err)
	}
	return nil
}

// await asks again and again until the answer is yes.
func await(ctx context.Context, limit time.Duration, what string, answer func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		yes, err := answer(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if yes {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until %s: %w", what, ctx.Err())
		case <-ticker.C:
		}
	}
}
