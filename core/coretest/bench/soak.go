package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/time/rate"

	"github.com/simplevalidations/simplevalidations/core/coretest"
)

const (
	laneSoak = "serve, half of its capacity"
	// soakWindows is how many times a soak that is not of whole minutes looks.
	soakWindows = 4
	// soakLives is how often all that expires has expired in a soak.
	soakLives = 20
	mebibyte  = 1 << 20
)

// soaked is what a minute of a soak has shown; sizes are in MiB.
type soaked struct {
	sample

	// waiting are the runs without a verdict at its end.
	waiting, goroutines          int
	memory, keys, runs, log, all float64
}

// measureSoak has the service start and execute runs at half of its capacity for long, over new connections each
// minute, with keys, documents and findings that expire after some minutes. The capacity is what it does once as much
// expires as is started.
func (b *bench) measureSoak(ctx context.Context) error {
	metrics, err := freeAddress(ctx)
	if err != nil {
		return err
	}
	life := max(b.options.soak/soakLives, time.Second)
	b.settings = []string{"SV_METRICS_ADDR=" + metrics, "SV_PURGE_SCHEDULE=@every 20s"}
	for _, name := range []string{
		"SV_IDEMPOTENCY_TTL", "SV_CONTENT_RETENTION", "SV_FINDINGS_RETENTION", "SV_REQUEST_LOG_RETENTION",
	} {
		b.settings = append(b.settings, name+"="+life.String())
	}
	b.starts.purges = true
	b.atEnd(func(context.Context) error { b.settings = nil; return nil })
	s, err := b.all(ctx, laneSoak)
	if err != nil {
		return err
	}
	load := row{workVerdicts, slices.Max(b.options.clients)}
	s.pending = ""
	window := min(time.Minute, b.options.soak/soakWindows)
	err = s.thawed(func() error {
		if _, err := s.load(ctx, load, life+window); err != nil {
			return err
		}
		most, err := s.load(ctx, load, window)
		if err != nil {
			return err
		}
		fmt.Fprintf(b.log, "the capacity is %.0f/s\n", rateOf(most))
		s.pace = rate.NewLimiter(rate.Limit(rateOf(most)/2), 1) //nolint:mnd // half
		for begun := time.Now(); time.Since(begun) < b.options.soak; {
			got, err := s.load(ctx, load, window)
			if err != nil {
				return err
			}
			m, err := b.look(ctx, metrics)
			if err != nil {
				return err
			}
			m.sample = got
			b.soaked = append(b.soaked, m)
			fmt.Fprintf(b.log, "%s: %.0f/s, p99 %.2f ms\n", time.Since(begun).Round(time.Second), rateOf(got),
				percentile(99)(got))
		}
		s.pending = pendingRuns // Each has its verdict in the end.
		_, err = s.during(ctx, func() error { return nil })
		return err
	})
	if b.options.picture == "" || err != nil {
		return err
	}
	picture, err := os.Create(b.options.picture)
	if err != nil {
		return fmt.Errorf("create the picture: %w", err)
	}
	return errors.Join(drawSoak(picture, b.soaked), picture.Close())
}

// look reads the sizes of the service and of its tables.
func (b *bench) look(ctx context.Context, metrics string) (soaked, error) {
	var m soaked
	err := b.db.QueryRow(ctx, `SELECT (SELECT count(*) FROM validation_runs WHERE sweep_after IS NOT NULL),
		pg_total_relation_size('idempotency_keys') / $1::float, pg_total_relation_size('validation_runs') / $1::float,
		pg_database_size(current_database()) / $1::float`, mebibyte).
		Scan(&m.waiting, &m.keys, &m.runs, &m.all)
	if err != nil {
		return m, fmt.Errorf("read sizes: %w", err)
	}
	log, err := os.Stat(filepath.Join(b.dir, "serve0.log"))
	if err != nil {
		return m, fmt.Errorf("find what was logged: %w", err)
	}
	m.log = float64(log.Size()) / mebibyte
	goroutines, err := coretest.Metric(ctx, metrics, "go_goroutines")
	if err != nil {
		return m, err
	}
	m.goroutines = int(goroutines)
	m.memory, err = coretest.Metric(ctx, metrics, "process_resident_memory_bytes")
	m.memory /= mebibyte
	return m, err
}

// writeSoak prints each minute of a soak.
func writeSoak(page io.Writer, minutes []soaked) {
	if len(minutes) == 0 {
		return
	}
	fmt.Fprint(page, "\n| minute | starts a second | p50 in ms | p99 in ms | waiting runs | goroutines | MiB: memory "+
		"| keys | runs | log | database |\n|---|---|---|---|---|---|---|---|---|---|---|\n")
	for n, m := range minutes {
		fmt.Fprintf(page, "| %d | %.0f | %.2f | %.2f | %d | %d | %.0f | %.0f | %.0f | %.0f | %.0f |\n", n+1,
			rateOf(m.sample), percentile(50)(m.sample), percentile(99)(m.sample), m.waiting, m.goroutines, m.memory,
			m.keys, m.runs, m.log, m.all)
	}
}
