package metrics_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/simplevalidations/simplevalidations/core/metrics"
)

// TestCollected wants the figures of the last reading, and none where there is nothing to trust.
func TestCollected(t *testing.T) {
	t.Parallel()
	away := errors.New("away")
	var databaseErr, queueErr error
	const dead = "Jobs that wait for an operator, by where they are."
	var ofDatabase, ofQueue metrics.Gauges
	ofDatabase.Add("sv_outbox_pending", "Staged jobs that wait for the queue, up to 10000.", 3)
	ofDatabase.Add("sv_jobs_dead", dead, 1, "place", "outbox")
	ofQueue.Add("sv_jobs_dead", dead, 4, "place", "queue")
	figures := metrics.NewCollected(func(ctx context.Context) (metrics.Gauges, error) {
		if _, bounded := ctx.Deadline(); !bounded {
			t.Error("the reading has no deadline")
		}
		return ofDatabase, databaseErr
	}, func(context.Context) (metrics.Gauges, error) { return ofQueue, queueErr })
	names := []string{"sv_figures_up", "sv_jobs_dead", "sv_outbox_pending"}
	want := func(lines ...string) {
		t.Helper()
		const headers = `
			# HELP sv_figures_up Whether the last reading of a source was successful.
			# TYPE sv_figures_up gauge
			# HELP sv_jobs_dead Jobs that wait for an operator, by where they are.
			# TYPE sv_jobs_dead gauge
			# HELP sv_outbox_pending Staged jobs that wait for the queue, up to 10000.
			# TYPE sv_outbox_pending gauge
		`
		text := headers + strings.Join(lines, "\n") + "\n"
		if err := testutil.CollectAndCompare(figures, strings.NewReader(text), names...); err != nil {
			t.Error(err)
		}
	}
	want(`sv_figures_up{source="database"} 0`, `sv_figures_up{source="queue"} 0`)
	if err := figures.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	want(`sv_figures_up{source="database"} 1`, `sv_figures_up{source="queue"} 1`, `sv_jobs_dead{place="outbox"} 1`,
		`sv_jobs_dead{place="queue"} 4`, `sv_outbox_pending 3`)
	databaseErr = away
	if err := figures.Refresh(t.Context()); !errors.Is(err, away) {
		t.Errorf("err = %v, want it to say why", err)
	}
	want(`sv_figures_up{source="database"} 0`, `sv_figures_up{source="queue"} 1`, `sv_jobs_dead{place="queue"} 4`)
	databaseErr, queueErr = nil, away
	if err := figures.Refresh(t.Context()); !errors.Is(err, away) {
		t.Errorf("err = %v, want it to say why", err)
	}
	want(`sv_figures_up{source="database"} 1`, `sv_figures_up{source="queue"} 0`, `sv_jobs_dead{place="outbox"} 1`,
		`sv_outbox_pending 3`)
}

// A source that hangs leaves the other one its time.
func TestGaugesOfASourceBesideAHangingOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		figures := metrics.NewCollected(func(ctx context.Context) (metrics.Gauges, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}, func(ctx context.Context) (metrics.Gauges, error) { return nil, ctx.Err() })
		if err := figures.Refresh(t.Context()); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Refresh = %v, want that the database hangs", err)
		}
		want := `
			# HELP sv_figures_up Whether the last reading of a source was successful.
			# TYPE sv_figures_up gauge
			sv_figures_up{source="database"} 0
			sv_figures_up{source="queue"} 1
		`
		if err := testutil.CollectAndCompare(figures, strings.NewReader(want), "sv_figures_up"); err != nil {
			t.Error(err)
		}
	})
}
