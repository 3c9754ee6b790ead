package tasks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/simplevalidations/simplevalidations/core/db"
)

const (
	// clockTolerance is how far the clock of a scheduler may run ahead of the database's: a task that comes this much
	// early still counts for the activation it was made for.
	clockTolerance = 5 * time.Second
	// ticksKept is how long the record of past ticks is kept.
	ticksKept = 30 * 24 * time.Hour
	// tickTimeout bounds each statement about ticks.
	tickTimeout = 10 * time.Second
)

// Periodic is work that is due by the calendar.
type Periodic struct {
	Name string
	// Spec is a cron expression of five fields, or a form such as @daily or @every 10m. It is in UTC.
	Spec string
	// Run does the work and returns how much it did. It may find half of it done: by its own earlier try, or because
	// the process that began it died.
	Run func(ctx context.Context) (int64, error)
}

// Calendar does periodic work once per tick, however many schedulers ask for it and however often. A tick is an
// activation of the schedule by the clock of the database; the row in job_ticks that names it can be inserted once.
//
// Ticks that pass while nothing runs are not made up for one by one: the next task does the latest of them. A try
// that fails gives its tick back, so that the queue may retry it. A process that dies in a try leaves its tick taken,
// and the work waits for the next one.
type Calendar struct {
	db      *db.DB
	entries map[string]entry
	log     *slog.Logger
}

type entry struct {
	Periodic
	schedule schedule
}

// NewCalendar checks the schedules and makes a Calendar.
func NewCalendar(database *db.DB, work []Periodic, log *slog.Logger) (*Calendar, error) {
	c := &Calendar{db: database, entries: make(map[string]entry, len(work)), log: log}
	for _, p := range work {
		if p.Name == "" {
			return nil, fmt.Errorf("periodic work with the schedule %q has no name", p.Spec)
		}
		if _, taken := c.entries[p.Name]; taken {
			return nil, fmt.Errorf("periodic work %s is duplicated", p.Name)
		}
		parsed, err := parseSchedule(p.Spec)
		if err != nil {
			return nil, fmt.Errorf("periodic work %s: %w", p.Name, err)
		}
		c.entries[p.Name] = entry{Periodic: p, schedule: parsed}
	}
	return c, nil
}

// RunDue does the work of the latest tick, or nothing when that tick is taken already.
func (c *Calendar) RunDue(ctx context.Context, name string) error {
	work, known := c.entries[name]
	if !known {
		return fmt.Errorf("%w: there is no periodic work %s", errNotMine, name)
	}
	tick, taken, err := c.take(ctx, work)
	if err != nil || taken {
		return err
	}
	var effect int64
	err = withoutPanic(func() error {
		var err error
		effect, err = work.Run(ctx)
		return err
	})
	if err != nil {
		return errors.Join(fmt.Errorf("do periodic work %s: %w", name, err), c.giveBack(ctx, name, tick))
	}
	if effect > 0 {
		c.log.InfoContext(ctx, "did periodic work", "name", name, "tick", tick, "effect", effect)
	}
	return c.record(ctx, name, tick, effect)
}

// take finds the latest tick and tries to take it. It reports whether another process has taken it.
func (c *Calendar) take(ctx context.Context, work entry) (time.Time, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, tickTimeout)
	defer cancel()
	now, err := c.now(ctx)
	if err != nil {
		return time.Time{}, false, err
	}
	tick, err := work.schedule.latest(now.Add(clockTolerance))
	if err != nil {
		return time.Time{}, false, fmt.Errorf("find the tick of %s: %w", work.Name, err)
	}
	taken, err := c.insertTick(ctx, work.Name, tick)
	return tick, !taken, err
}

// giveBack frees a tick for another try. It also works after ctx has ended, which may be why the work failed.
func (c *Calendar) giveBack(ctx context.Context, name string, tick time.Time) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tickTimeout)
	defer cancel()
	return c.deleteTick(ctx, name, tick)
}

// record writes the effect and deletes old ticks. The tick itself always stays, however old it is: without it a task
// that comes very late would do a yearly job again.
func (c *Calendar) record(ctx context.Context, name string, tick time.Time, effect int64) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tickTimeout)
	defer cancel()
	return errors.Join(c.updateTick(ctx, name, tick, effect), c.deleteTicksBefore(ctx, name, tick))
}
