package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	queueClients = 8
	queueLimit   = 10 * time.Minute
)

// measureQueue lets pgbench stage runs, and then has a worker execute them.
func (c *course) measureQueue(ctx context.Context) ([]goal, error) {
	executed := goal{what: "runs from pending to executed, one worker process", bound: atLeast(1000, unitPerSec)}
	for range c.options.scale.rounds {
		if err := c.world.cancelPending(ctx); err != nil {
			return nil, err
		}
		if err := c.world.forgetExecuted(ctx); err != nil {
			return nil, err
		}
		if err := c.world.settle(ctx); err != nil {
			return nil, err
		}
		staged, err := c.stage(ctx)
		if err != nil {
			return nil, err
		}
		rate, used, err := c.execute(ctx)
		if err != nil {
			return nil, err
		}
		executed.values = append(executed.values, rate)
		executed.note = fmt.Sprintf("%s runs of one step; a run takes %d µs of PostgreSQL and %d µs of the worker",
			thousands(float64(staged)), used.postgres.Microseconds()/int64(staged),
			used.service.Microseconds()/int64(staged))
	}
	return []goal{executed}, nil
}

// stage starts runs and returns how many there are.
func (c *course) stage(ctx context.Context) (int, error) {
	if _, err := c.yardstick.run(ctx, workMany, queueClients, c.options.duration); err != nil {
		return 0, err
	}
	var staged int
	if err := c.world.db.QueryRow(ctx, "SELECT count(*) FROM staged_jobs").Scan(&staged); err != nil {
		return 0, fmt.Errorf("count staged jobs: %w", err)
	}
	return staged, nil
}

// execute runs a worker until no run is pending, and returns the runs a second between the first and the last, and the
// processor time of all.
func (c *course) execute(ctx context.Context) (float64, cpuTimes, error) {
	worker, _, err := c.world.serve(ctx, "worker")
	if err != nil {
		return 0, cpuTimes{}, err
	}
	used, err := c.awaitExecuted(ctx, worker)
	if err := errors.Join(err, worker.stop()); err != nil {
		return 0, cpuTimes{}, err
	}
	rate, err := c.executionRate(ctx)
	return rate, used, err
}

// awaitExecuted returns the processor time that was used until no run was pending.
func (c *course) awaitExecuted(ctx context.Context, worker *process) (cpuTimes, error) {
	clocks := meter{services: []int{worker.pid()}, postgres: c.meter.postgres}
	before, err := clocks.read()
	if err != nil {
		return cpuTimes{}, err
	}
	err = await(ctx, queueLimit, "all runs are executed", func(ctx context.Context) (bool, error) {
		var pending bool
		err := c.world.db.QueryRow(ctx,
			"SELECT EXISTS (SELECT FROM validation_runs WHERE sweep_after IS NOT NULL)").Scan(&pending)
		return !pending, err
	})
	if err != nil {
		return cpuTimes{}, err
	}
	after, err := clocks.read()
	return after.sub(before), err
}

func (c *course) executionRate(ctx context.Context) (float64, error) {
	var rate float64
	var failed, swept int
	err := c.world.db.QueryRow(ctx, `
		SELECT count(*) / extract(epoch FROM max(ended_at) - min(started_at))::float8,
			count(*) FILTER (WHERE result NOT IN ('PASS', 'FAIL')), count(*) FILTER (WHERE sweeps > 0)
		FROM validation_runs
		WHERE started_at IS NOT NULL AND ended_at > now() - $1::bigint * interval '1 millisecond'`,
		queueLimit.Milliseconds()).Scan(&rate, &failed, &swept)
	if err == nil && failed > 0 {
		err = fmt.Errorf("%d runs were not executed as they should", failed)
	}
	if err == nil && swept > 0 {
		err = fmt.Errorf("%d runs were executed because the sweeper found them, and not through the queue", swept)
	}
	return rate, err
}

// cancelPending ends what other measurements have started, so that the worker executes nothing else.
func (w *world) cancelPending(ctx context.Context) error {
	if _, err := w.db.Exec(ctx, `
		UPDATE validation_runs SET state = 'COMPLETED', result = 'CANCELED', ended_at = now(), epoch = epoch + 1,
			lease_until = NULL, sweep_after = NULL
		WHERE sweep_after IS NOT NULL`); err != nil {
		return fmt.Errorf("cancel runs: %w", err)
	}
	return nil
}

func (w *world) forgetExecuted(ctx context.Context) error {
	// The rates of a round are computed from the runs that were executed in it.
	if _, err := w.db.Exec(ctx,
		"UPDATE validation_runs SET started_at = NULL WHERE started_at IS NOT NULL"); err != nil {
		return fmt.Errorf("forget executed runs: %w", err)
	}
	return nil
}
