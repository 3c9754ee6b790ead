package tasks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/hibiken/asynq"
	"github.com/robfig/cron/v3"
)

// Scheduler puts periodic work into the queue when it is due. Any number may run at once.
type Scheduler struct {
	redis    asynq.RedisConnOpt
	calendar *Calendar
	log      *slog.Logger
}

// NewScheduler makes a Scheduler for the work of the calendar.
func NewScheduler(redis asynq.RedisConnOpt, calendar *Calendar, log *slog.Logger) *Scheduler {
	return &Scheduler{redis: redis, calendar: calendar, log: log}
}

// Run schedules until ctx ends. Work that falls due while Redis is unreachable is left to the next activation.
func (s *Scheduler) Run(ctx context.Context) error {
	scheduler := asynq.NewScheduler(s.redis, &asynq.SchedulerOpts{
		Location: time.UTC,
		Logger:   queueLog{log: s.log},
		LogLevel: asynq.ErrorLevel,
		PostEnqueueFunc: func(_ *asynq.TaskInfo, err error) {
			if err != nil {
				s.log.ErrorContext(ctx, "periodic work was not queued", "error", err)
			}
		},
	})
	for name, work := range s.calendar.entries {
		if _, err := scheduler.Register(work.Spec, encodePeriodic(name)); err != nil {
			return fmt.Errorf("schedule periodic work %s: %w", name, err)
		}
	}
	if err := scheduler.Start(); err != nil {
		return fmt.Errorf("start the scheduler: %w", err)
	}
	<-ctx.Done()
	scheduler.Shutdown()
	return nil
}

const (
	// firstWindow is the finest step of a cron expression, and longestWindow holds an activation of every schedule that
	// has any: between two leap days there may be eight years.
	firstWindow   = time.Minute
	longestWindow = 40 * 366 * 24 * time.Hour
	windowGrowth  = 4
)

var errNeverDue = errors.New("the schedule is never due")

// schedule is when periodic work is due, in UTC. It can be asked for what was due last, which cron cannot.
type schedule struct {
	next cron.Schedule
}

// CheckSchedule says what is wrong with a cron expression, before anything is due by it.
func CheckSchedule(spec string) error {
	_, err := parseSchedule(spec)
	return err
}

func parseSchedule(spec string) (schedule, error) {
	// A zone with daylight saving time has hours that come twice or not at all.
	if strings.HasPrefix(spec, "TZ=") || strings.HasPrefix(spec, "CRON_TZ=") {
		return schedule{}, fmt.Errorf("the schedule %q names a time zone, but schedules are in UTC", spec)
	}
	parsed, err := cron.ParseStandard(spec)
	if err != nil {
		return schedule{}, fmt.Errorf("read the schedule %q: %w", spec, err)
	}
	if parsed.Next(time.Unix(0, 0).UTC()).IsZero() {
		return schedule{}, fmt.Errorf("read the schedule %q: %w", spec, errNeverDue)
	}
	return schedule{next: parsed}, nil
}

// latest returns the last activation at or before the time. For a fixed delay, whose activations cron counts from
// the start of each process, these are its multiples.
func (s schedule) latest(at time.Time) (time.Time, error) {
	at = at.UTC()
	if every, ok := s.next.(cron.ConstantDelaySchedule); ok {
		return at.Truncate(every.Delay), nil
	}
	for window := firstWindow; window <= longestWindow; window *= windowGrowth {
		if tick := s.latestSince(at.Add(-window), at); !tick.IsZero() {
			return tick, nil
		}
	}
	return time.Time{}, errNeverDue
}

// latestSince returns the zero time when there was no activation after since.
func (s schedule) latestSince(since, at time.Time) time.Time {
	var latest time.Time
	for tick := s.next.Next(since); !tick.IsZero() && !tick.After(at); tick = s.next.Next(tick) {
		latest = tick
	}
	return latest
}
