package tasks_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/tasks"
)

const workName = "purge"

// work is what a calendar does when it is due.
type work = func(ctx context.Context) (int64, error)

func newCalendar(tb testing.TB, database *db.DB, spec string, run work) *tasks.Calendar {
	tb.Helper()
	calendar, err := tasks.NewCalendar(database, []tasks.Periodic{{Name: workName, Spec: spec, Run: run}}, discard())
	if err != nil {
		tb.Fatalf("make calendar: %v", err)
	}
	return calendar
}

func TestCalendarHasOneEffectPerTick(t *testing.T) {
	t.Parallel()
	database := coretest.OpenDatabase(t)
	var runs atomic.Int64
	// A year is a tick that no test outlasts, save around one midnight.
	calendar := newCalendar(t, database, "@yearly", func(context.Context) (int64, error) {
		runs.Add(1)
		return 42, nil
	})
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			if err := calendar.RunDue(t.Context(), workName); err != nil {
				t.Errorf("run due: %v", err)
			}
		})
	}
	group.Wait()
	if got := runs.Load(); got != 1 {
		t.Errorf("runs = %d, want 1", got)
	}
	if ticks, effect := countTicks(t, database); ticks != 1 || effect != 42 {
		t.Errorf("ticks = %d with effect %d, want 1 with 42", ticks, effect)
	}
}

func TestCalendarGivesTheTickBackAfterAFailure(t *testing.T) {
	t.Parallel()
	database := coretest.OpenDatabase(t)
	failure := errors.New("no disk")
	ctx, cancel := context.WithCancel(t.Context())
	runs := 0
	calendar := newCalendar(t, database, "@yearly", func(context.Context) (int64, error) {
		runs++
		switch runs {
		case 1:
			// The usual failure: the process is told to stop.
			cancel()
			return 1, failure
		case 2:
			panic("nil map")
		}
		return 3, nil
	})
	if err := calendar.RunDue(ctx, workName); !errors.Is(err, failure) {
		t.Errorf("first run = %v, want the failure", err)
	}
	if err := calendar.RunDue(t.Context(), workName); err == nil {
		t.Error("second run succeeded, want the panic as an error")
	}
	for range 2 {
		if err := calendar.RunDue(t.Context(), workName); err != nil {
			t.Errorf("later run: %v", err)
		}
	}
	if ticks, effect := countTicks(t, database); runs != 3 || ticks != 1 || effect != 3 {
		t.Errorf("runs = %d, ticks = %d with effect %d, want 3, 1 with 3", runs, ticks, effect)
	}
}

func TestCalendarForgetsOldTicksButNotItsOwn(t *testing.T) {
	t.Parallel()
	database := coretest.OpenDatabase(t)
	if _, err := database.Pool.Exec(t.Context(), `
		INSERT INTO job_ticks (job, tick)
		SELECT $1, now() - make_interval(days => day)
		FROM generate_series(1, 1000, 9) AS day`, workName); err != nil {
		t.Fatalf("insert ticks: %v", err)
	}
	// Due on one day of the year only, which is mostly more than 30 days ago.
	calendar := newCalendar(t, database, "0 0 29 2 *", func(context.Context) (int64, error) { return 1, nil })
	if err := calendar.RunDue(t.Context(), workName); err != nil {
		t.Fatalf("run due: %v", err)
	}
	var old, own int
	if err := database.Pool.QueryRow(t.Context(), `
		SELECT count(*) FILTER (WHERE tick < (SELECT min(tick) FROM job_ticks WHERE effect = 1)),
			count(*) FILTER (WHERE effect = 1) FROM job_ticks`).Scan(&old, &own); err != nil {
		t.Fatalf("count ticks: %v", err)
	}
	if old != 0 || own != 1 {
		t.Errorf("older ticks = %d, own = %d, want 0 and 1", old, own)
	}
}

func countTicks(tb testing.TB, database *db.DB) (int, int64) {
	tb.Helper()
	var ticks int
	var effect int64
	if err := database.Pool.QueryRow(tb.Context(),
		"SELECT count(*), coalesce(sum(effect), 0)::bigint FROM job_ticks").Scan(&ticks, &effect); err != nil {
		tb.Fatalf("count ticks: %v", err)
	}
	return ticks, effect
}

func TestScheduler(t *testing.T) {
	t.Parallel()
	for name, start := range backends() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, start(t))
			var runs atomic.Int64
			for range 2 {
				calendar := newCalendar(t, b.db, "@every 1s", func(context.Context) (int64, error) {
					runs.Add(1)
					return 1, nil
				})
				startScheduler(t, tasks.NewScheduler(b.redis, calendar, discard()))
				worker := newWorker(b, time.Minute)
				worker.HandlePeriodic(calendar)
				startWorker(t, worker)
			}
			coretest.Await(t, "three ticks are done", func() bool {
				_, effect := countTicks(t, b.db)
				return effect >= 3
			})
			// The number of ticks is read last: it only grows.
			done := runs.Load()
			if ticks, _ := countTicks(t, b.db); done > int64(ticks) {
				t.Errorf("runs = %d in %d ticks, want at most one per tick", done, ticks)
			}
		})
	}
}

func startScheduler(tb testing.TB, scheduler *tasks.Scheduler) {
	tb.Helper()
	ctx, cancel := context.WithCancel(tb.Context())
	result := make(chan error, 1)
	go func() { result <- scheduler.Run(ctx) }()
	tb.Cleanup(func() {
		cancel()
		if err := <-result; err != nil {
			tb.Errorf("the scheduler returned %v, want nil", err)
		}
	})
}
