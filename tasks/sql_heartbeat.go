package tasks

import (
	"context"
	"fmt"
	"time"

	"github.com/simplevalidations/simplevalidations/core/db"
)

// upsert writes the process and its loops in one statement. Times are sent as ages, so that the clock of the database
// is the only one that counts.
func (h *Heartbeat) upsert(ctx context.Context, loops []pass) error {
	now := time.Now()
	age := func(at func(*pass) time.Time) []*float64 {
		return db.Column(loops, func(p *pass) *float64 { return secondsSince(at(p), now) })
	}
	_, err := h.db.Pool.Exec(ctx, `
		WITH forgotten AS (
			DELETE FROM service_processes WHERE id <> $1 AND seen_at < now() - $2::interval
		), alive AS (
			INSERT INTO service_processes (id, host, pid, version, parts, started_at, seen_at)
			VALUES ($1, $3, $4, $5, $6, now() - $7::interval, now())
			ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at
		)
		INSERT INTO service_loops (
			process_id, name, every, began_at, ended_at, failed_at, done, total, failures, last_error)
		SELECT $1, name, make_interval(secs => every), now() - make_interval(secs => began),
			now() - make_interval(secs => ended), now() - make_interval(secs => failed), done, total, failures, error
		FROM unnest($8::text[], $9::float8[], $10::float8[], $11::float8[], $12::float8[],
			$13::bigint[], $14::bigint[], $15::int[], $16::text[])
			AS l (name, every, began, ended, failed, done, total, failures, error)
		ON CONFLICT (process_id, name) DO UPDATE SET
			began_at = excluded.began_at, ended_at = excluded.ended_at, failed_at = excluded.failed_at,
			done = excluded.done, total = excluded.total, failures = excluded.failures,
			last_error = excluded.last_error`,
		h.id, forgottenAfter, h.process.Host, h.process.PID, h.process.Version, h.process.Parts, now.Sub(h.started),
		db.Column(loops, func(p *pass) string { return p.name }),
		db.Column(loops, func(p *pass) float64 { return p.interval.Seconds() }),
		age(func(p *pass) time.Time { return p.began }), age(func(p *pass) time.Time { return p.ended }),
		age(func(p *pass) time.Time { return p.failed }),
		db.Column(loops, func(p *pass) int64 { return p.done }),
		db.Column(loops, func(p *pass) int64 { return p.total }),
		db.Column(loops, func(p *pass) int { return p.failures }),
		db.Column(loops, func(p *pass) string { return p.err }))
	if err != nil {
		return fmt.Errorf("write the heartbeat: %w", err)
	}
	return nil
}

// secondsSince returns nil for the zero time.
func secondsSince(at, now time.Time) *float64 {
	if at.IsZero() {
		return nil
	}
	seconds := now.Sub(at).Seconds()
	return &seconds
}

func (h *Heartbeat) delete(ctx context.Context) error {
	if _, err := h.db.Pool.Exec(ctx, `DELETE FROM service_processes WHERE id = $1`, h.id); err != nil {
		return fmt.Errorf("delete process %s: %w", h.id, err)
	}
	return nil
}
