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
		var found besideBacklog
		err := c.alone(ctx, func() error {
			s, err := c.startSystem(ctx, systemEmbedded, []string{""}, c.world.embedded())
			if err != nil {
				return err
			}
			// The latency is that of the start, whatever becomes of its run.
			s.load.verdicts = nil
			found, err = c.startBesideBacklog(ctx, s)
			return errors.Join(err, s.stop())
		})
		if err != nil {
			return nil, err
		}
		half.values = append(half.values, millis(found.beside, 50)/millis(found.idle, 50))
		half.note = fmt.Sprintf("%.1f ms, %.1f ms idle; %s runs were left at the end", millis(found.beside, 50),
			millis(found.idle, 50), thousands(float64(found.left)))
		slowest.values = append(slowest.values, millis(found.beside, 99)/millis(found.idle, 99))
		slowest.note = fmt.Sprintf("%.1f ms, %.1f ms idle", millis(found.beside, 99), millis(found.idle, 99))
	}
	return []goal{half, slowest}, nil
}

// besideBacklog has the starts of a lone client, and how much of the backlog was left after them.
type besideBacklog struct {
	idle, beside sample
	left         int
}

func (c *course) startBesideBacklog(ctx context.Context, s system) (besideBacklog, error) {
	var found besideBacklog
	var err error
	if found.idle, err = s.measure(ctx, workMany, 1, c.options.duration); err != nil {
		return found, err
	}
	if err := c.stageBacklog(ctx); err != nil {
		return found, err
	}
	if found.beside, err = s.measure(ctx, workMany, 1, c.options.duration); err != nil {
		return found, err
	}
	err = c.world.db.QueryRow(ctx,
		"SELECT count(*) FROM validation_runs WHERE sweep_after IS NOT NULL").Scan(&found.left)
	if err == nil && found.left == 0 {
		err = errors.New("the backlog was done before the measurement ended: make -duration shorter")
	}
	return found, errors.Join(err, c.clear(ctx))
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
