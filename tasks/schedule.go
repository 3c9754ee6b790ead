package tasks

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

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
