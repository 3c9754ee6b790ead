package tasks

import (
	"context"
	"fmt"
	"time"
)

func (c *Calendar) now(ctx context.Context) (time.Time, error) {
	var now time.Time
	if err := c.db.Pool.QueryRow(ctx, "SELECT now()").Scan(&now); err != nil {
		return time.Time{}, fmt.Errorf("ask the database for the time: %w", err)
	}
	return now, nil
}

// insertTick reports whether the tick was free. The primary key lets one process have it.
func (c *Calendar) insertTick(ctx context.Context, name string, tick time.Time) (bool, error) {
	inserted, err := c.db.Pool.Exec(ctx,
		"INSERT INTO job_ticks (job, tick) VALUES ($1, $2) ON CONFLICT DO NOTHING", name, tick)
	if err != nil {
		return false, fmt.Errorf("take the tick of %s: %w", name, err)
	}
	return inserted.RowsAffected() > 0, nil
}

func (c *Calendar) deleteTick(ctx context.Context, name string, tick time.Time) error {
	if _, err := c.db.Pool.Exec(ctx, "DELETE FROM job_ticks WHERE job = $1 AND tick = $2", name, tick); err != nil {
		return fmt.Errorf("give back the tick of %s: %w", name, err)
	}
	return nil
}

func (c *Calendar) updateTick(ctx context.Context, name string, tick time.Time, effect int64) error {
	if _, err := c.db.Pool.Exec(ctx, `
		UPDATE job_ticks SET done_at = now(), effect = $3
		WHERE job = $1 AND tick = $2`, name, tick, effect); err != nil {
		return fmt.Errorf("record the tick of %s: %w", name, err)
	}
	return nil
}

// deleteTicksBefore deletes the ticks before one that are older than ticksKept.
func (c *Calendar) deleteTicksBefore(ctx context.Context, name string, tick time.Time) error {
	if _, err := c.db.Pool.Exec(ctx, `
		DELETE FROM job_ticks
		WHERE job = $1 AND tick < $2 AND tick < now() - make_interval(secs => $3)`,
		name, tick, ticksKept.Seconds()); err != nil {
		return fmt.Errorf("delete old ticks of %s: %w", name, err)
	}
	return nil
}
