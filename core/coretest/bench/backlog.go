package main

import (
	"context"
	"errors"
	"fmt"
)

const (
	backlogRuns   = 10_000
	backlogFiller = 8
)

// measureBacklog compares the starts of a lone client while the process executes a backlog with those while it is idle.
func (c *course) measureBacklog(ctx context.Context) ([]goal, error) {
	half := goal{what: "lone start beside a backlog of 10,000 runs, p50 to idle", bound: atMost(2, unitTimes)}
	slowest := goal{what: "lone start beside a backlog of 10,000 runs, p99 to idle", bound: atMost(4, unitTimes)}
	for range c.options.scale.rounds {
		idle, beside, left, err := c.startsBesideBacklog(ctx)
		if err != nil {
			return nil, err
		}
		half.values = append(half.values, millis(beside, 50)/millis(idle, 50))
		half.note = fmt.Sprintf("%.1f ms, %.1f ms idle; %s runs were left at the end", millis(beside, 50),
			millis(idle, 50), thousands(float64(left)))
		slowest.values = append(slowest.values, millis(beside, 99)/millis(idle, 99))
		slowest.note = fmt.Sprintf("%.1f ms, %.1f ms idle", millis(beside, 99), millis(idle, 99))
	}
	return []goal{half, slowest}, nil
}

// startsBesideBacklog measures both, and returns how much of the backlog was left.
func (c *course) startsBesideBacklog(ctx context.Context) (idle, beside sample, left int, err error) {
	err = c.alone(ctx, func() (err error) {
		s, err := c.startSystem(ctx, systemEmbedded, []string{""}, c.world.embedded())
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.stop()) }()
		// The latency is that of the start, whatever becomes of its run.
		s.load.verdicts = nil
		if idle, err = s.measure(ctx, workMany, 1, c.options.duration); err != nil {
			return err
		}
		if err := c.stageBacklog(ctx); err != nil {
			return err
		}
		if beside, err = s.measure(ctx, workMany, 1, c.options.duration); err != nil {
			return err
		}
		err = c.world.db.QueryRow(ctx, "SELECT count(*) FROM validation_runs WHERE sweep_after IS NOT NULL").Scan(&left)
		if err == nil && left == 0 {
			err = errors.New("the backlog was done before the measurement ended: make -duration shorter")
		}
		return errors.Join(err, c.clear(ctx))
	})
	return idle, beside, left, err
}

// stageBacklog lets pgbench start runs of many organizations.
func (c *course) stageBacklog(ctx context.Context) error {
	for staged := 0; staged < backlogRuns; {
		got, err := c.yardstick.run(ctx, workMany, backlogFiller, c.options.duration)
		if err != nil {
			return err
		}
		staged += got.requests
	}
	return analyze(ctx, c.world.db)
}
