package tasks_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/tasks"
)

func newHeartbeat(tb testing.TB, database *db.DB) *tasks.Heartbeat {
	tb.Helper()
	heart, err := tasks.NewHeartbeat(database, tasks.Process{
		Host: "web-1", PID: 42, Version: "1.2.3", Parts: []string{"web", "worker"},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return heart
}

func beat(tb testing.TB, heart *tasks.Heartbeat) {
	tb.Helper()
	if _, err := heart.Beat(tb.Context()); err != nil {
		tb.Fatal(err)
	}
}

func wantProcesses(tb testing.TB, database *db.DB, want int) []tasks.ProcessState {
	tb.Helper()
	found, err := tasks.Processes(tb.Context(), database, 10)
	if err != nil {
		tb.Fatal(err)
	}
	if len(found) != want {
		tb.Fatalf("%d processes, want %d: %+v", len(found), want, found)
	}
	return found
}

// follow runs a loop to the end of its first pass that returns the values.
func follow(tb testing.TB, heart *tasks.Heartbeat, name string, n int, err error) {
	tb.Helper()
	ctx, stop := context.WithCancel(tb.Context())
	passed := make(chan struct{}, 1)
	runs := 0
	loop := heart.Follow(tasks.Loop{Name: name, Interval: time.Second, RunOnce: func(context.Context) (int, error) {
		runs++
		if runs == 1 {
			return n, err
		}
		passed <- struct{}{}
		stop()
		return 0, nil
	}})
	if err := loop.Run(ctx, discard()); err != nil {
		tb.Fatal(err)
	}
	<-passed
}

func TestHeartbeatReportsTheProcessAndItsLoops(t *testing.T) {
	t.Parallel()
	database := coretest.OpenDatabase(t)
	heart := newHeartbeat(t, database)
	heart.Follow(tasks.Loop{Name: "idle", Interval: time.Hour})
	beat(t, heart)
	follow(t, heart, "sweeper", 7, nil)
	follow(t, heart, "enqueuer", 0, errors.New("is away\x00"))
	beat(t, heart)

	process := wantProcesses(t, database, 1)[0]
	if process.Host != "web-1" || process.PID != 42 || process.Version != "1.2.3" || len(process.Parts) != 2 {
		t.Errorf("process = %+v", process.Process)
	}
	if process.SilentFor > 0 || process.StartedAt.After(process.SeenAt) {
		t.Errorf("silent for %v, started %s, seen %s", process.SilentFor, process.StartedAt, process.SeenAt)
	}
	enqueuer, idle, sweeper := process.Loops[0], process.Loops[1], process.Loops[2]
	if enqueuer.LastError != "is away\uFFFD" || enqueuer.FailedAt == nil || enqueuer.Failures != 0 {
		t.Errorf("enqueuer = %+v, want its last error and no failure since", enqueuer)
	}
	if idle.EndedAt != nil || idle.Every != time.Hour || idle.Late {
		t.Errorf("idle = %+v, want no pass yet", idle)
	}
	if sweeper.Done != 0 || sweeper.Total != 7 || sweeper.EndedAt == nil || sweeper.LastError != "" {
		t.Errorf("sweeper = %+v, want 7 in all", sweeper)
	}
}

func TestHeartbeatKnowsWhoIsSilentAndWhatIsLate(t *testing.T) {
	t.Parallel()
	b := &testBundle{db: coretest.OpenDatabase(t)}
	killed, hung := newHeartbeat(t, b.db), newHeartbeat(t, b.db)
	beat(t, killed)
	b.exec(t, `UPDATE service_processes SET seen_at = now() - interval '10 minutes'`)
	hung.Follow(tasks.Loop{Name: "sweeper", Interval: 5 * time.Second})
	beat(t, hung)
	b.exec(t, `UPDATE service_loops SET ended_at = seen_at - interval '26 seconds'
		FROM service_processes WHERE service_processes.id = process_id`)
	found := wantProcesses(t, b.db, 2)
	if found[0].SilentFor > 0 || found[1].SilentFor < 10*time.Minute {
		t.Errorf("silent for %v, %v, want the second alone", found[0].SilentFor, found[1].SilentFor)
	}
	if !found[0].Loops[0].Late {
		t.Errorf("loop = %+v, want it late", found[0].Loops[0])
	}
	b.exec(t, `UPDATE service_loops SET every = '6 seconds'`)
	if loop := wantProcesses(t, b.db, 2)[0].Loops[0]; loop.Late {
		t.Errorf("loop = %+v, want it in time", loop)
	}
}

func TestHeartbeatForgetsWhoWasKilledLongAgo(t *testing.T) {
	t.Parallel()
	b := &testBundle{db: coretest.OpenDatabase(t)}
	killed := newHeartbeat(t, b.db)
	killed.Follow(tasks.Loop{Name: "sweeper", Interval: time.Second})
	beat(t, killed)
	b.exec(t, `UPDATE service_processes SET seen_at = now() - interval '25 hours'`)
	beat(t, newHeartbeat(t, b.db))
	wantProcesses(t, b.db, 1)
	// It was only frozen.
	beat(t, killed)
	wantProcesses(t, b.db, 2)
}

func TestHeartbeatDeletesItsRowsWhenItStops(t *testing.T) {
	t.Parallel()
	database := coretest.OpenDatabase(t)
	heart := newHeartbeat(t, database)
	heart.Follow(tasks.Loop{Name: "sweeper", Interval: time.Second})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- heart.Run(ctx, discard()) }()
	coretest.Await(t, "the process is heard of", func() bool {
		found, err := tasks.Processes(t.Context(), database, 10)
		return err == nil && len(found) == 1
	})
	stop()
	if err := coretest.Receive(t, "the heartbeat ends", ended); err != nil {
		t.Error(err)
	}
	wantProcesses(t, database, 0)
}

func TestHeartbeatDoesNotMindADatabaseThatIsAway(t *testing.T) {
	t.Parallel()
	database := coretest.OpenDatabase(t)
	heart := newHeartbeat(t, database)
	passed := make(chan struct{}, 1)
	loop := heart.Follow(tasks.Loop{
		Name: "sweeper", Interval: time.Millisecond, RunOnce: func(context.Context) (int, error) {
			select {
			case passed <- struct{}{}:
			default:
			}
			return 0, nil
		},
	})
	database.Pool.Close()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	go func() { ended <- heart.Run(ctx, discard()) }()
	go func() { ended <- loop.Run(ctx, discard()) }()
	for range 3 {
		coretest.Receive(t, "the loop passes", passed)
	}
	stop()
	for range 2 {
		if err := coretest.Receive(t, "the loop or the heartbeat ends", ended); err != nil {
			t.Error(err)
		}
	}
}
