package tasks

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
)

const (
	beatInterval = 12 * time.Second
	// silentAfter is three beats that did not come.
	silentAfter = 40 * time.Second
	// forgottenAfter is how long people can see that a process was killed.
	forgottenAfter = 24 * time.Hour
	leaveTimeout   = 2 * time.Second
)

// Process is what a process says of itself.
type Process struct {
	Host    string
	PID     int
	Version string
	// Parts are what it was started for.
	Parts []string
}

// Heartbeat tells everybody that this process lives, and how its loops get on. Where it cannot, the loops go on.
type Heartbeat struct {
	db      *db.DB
	id      uuid.UUID
	process Process
	started time.Time
	loops   []*passes
}

// NewHeartbeat makes the Heartbeat of this process.
func NewHeartbeat(database *db.DB, process Process) (*Heartbeat, error) {
	id, err := core.NewID()
	if err != nil {
		return nil, err
	}
	return &Heartbeat{db: database, id: id, process: process, started: time.Now()}, nil
}

// Follow returns the loop as one whose passes the heartbeat tells of. It is called before the loop and Run.
func (h *Heartbeat) Follow(loop Loop) Loop {
	loop.passes = &passes{loop: pass{name: loop.Name, interval: loop.Interval}}
	h.loops = append(h.loops, loop.passes)
	return loop
}

// Run beats until ctx ends. Then it says that the process has stopped, which is no silence.
func (h *Heartbeat) Run(ctx context.Context, log *slog.Logger) error {
	beating := Loop{Name: "heartbeat", Interval: beatInterval, RunOnce: h.Beat}
	if err := beating.Run(ctx, log); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
	defer cancel()
	if _, err := h.db.Pool.Exec(ctx, `DELETE FROM service_processes WHERE id = $1`, h.id); err != nil {
		log.WarnContext(ctx, "the process could not say that it stops", "error", err)
	}
	return nil
}

// Beat writes what is known now, in one statement, and forgets processes that were killed long ago. Times are told as
// ages, so that the clock of the database is the only one that counts. It returns 0: to beat is no work.
func (h *Heartbeat) Beat(ctx context.Context) (int, error) {
	loops := make([]pass, len(h.loops))
	for i, loop := range h.loops {
		loops[i] = loop.last()
	}
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
		return 0, fmt.Errorf("write the heartbeat: %w", err)
	}
	return 0, nil
}

// secondsSince returns nil for a time that was never.
func secondsSince(at, now time.Time) *float64 {
	if at.IsZero() {
		return nil
	}
	seconds := now.Sub(at).Seconds()
	return &seconds
}
