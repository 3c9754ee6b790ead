package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	randv2 "math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"
)

// work is what is measured.
type work string

const (
	workMany   work = "fresh starts, 1,000 organizations"
	workHot    work = "fresh starts, one organization"
	workReplay work = "replays of 1,000 keys"
	// The starts of nine in ten organizations count.
	workOthers work = "fresh starts of nine in ten organizations"
	workWait   work = "runs that are waited for"
	// Of these each run is waited for until it has its verdict, after the last was started.
	workVerdicts    work = "verdicts, 1,000 organizations"
	workHotVerdicts work = "verdicts, one organization"
	// One client starts runs of an organization that counts, and all others runs of another one.
	workQuiet work = "verdicts, one client beside those of a busy organization"
)

// sample is one measurement.
type sample struct {
	requests  int
	elapsed   time.Duration
	latencies latencies
	cpu       cpuTimes
}

// latencies are sorted.
type latencies []time.Duration

// percentile returns the latency that so many of a hundred requests did not exceed.
func (l latencies) percentile(percent int) time.Duration {
	if len(l) == 0 {
		return 0
	}
	return l[min(len(l)*percent/100, len(l)-1)]
}

// loader drives the service.
type loader struct {
	address string
	tenants []tenant
	meter   meter
	// verdicts is nil where starts are measured alone.
	verdicts *verdicts
	// spent says that a tenth of the organizations are over their quota.
	spent bool
}

// measure lets clients send requests for the given time, each the next one as soon as it has the answer. The first
// wrong answer ends the measurement with an error.
func (l loader) measure(ctx context.Context, r row, duration time.Duration) (sample, error) {
	connections := make([]*client, 0, r.clients)
	defer func() {
		for _, c := range connections {
			c.close()
		}
	}()
	for range r.clients {
		c, err := dial(ctx, l.address)
		if err != nil {
			return sample{}, err
		}
		connections = append(connections, c)
	}
	before, err := l.meter.read()
	if err != nil {
		return sample{}, err
	}
	begun := time.Now()
	all, err := l.drive(ctx, r.what, connections, begun.Add(duration))
	if err != nil {
		return sample{}, err
	}
	if l.verdicts != nil {
		if err := l.verdicts.await(ctx); err != nil {
			return sample{}, err
		}
	}
	elapsed := time.Since(begun)
	after, err := l.meter.read()
	if err == nil && l.verdicts != nil {
		all, err = l.verdicts.latencies(ctx, r.what, begun, len(all))
	}
	slices.Sort(all)
	return sample{requests: len(all), elapsed: elapsed, latencies: all, cpu: after.sub(before)}, err
}

func (l loader) drive(ctx context.Context, what work, connections []*client, end time.Time) (latencies, error) {
	group, ctx := errgroup.WithContext(ctx)
	parts := make([]latencies, len(connections))
	for i, c := range connections {
		group.Go(func() error {
			// A client that waits for an answer would not notice that the others have given up.
			defer context.AfterFunc(ctx, c.close)()
			var err error
			parts[i], err = l.driveOne(what, i, c, end)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return slices.Concat(parts...), nil
}

func (l loader) driveOne(what work, number int, c *client, end time.Time) (latencies, error) {
	var taken latencies
	// Nobody else has used these keys, and nobody will.
	prefix, key := rand.Text()+"-", 0
	for begun := time.Now(); begun.Before(end); {
		key++
		counted, err := l.request(what, number, c, prefix+strconv.Itoa(key))
		if err != nil {
			return nil, err
		}
		answered := time.Now()
		if counted {
			taken = append(taken, answered.Sub(begun))
		}
		begun = answered
	}
	return taken, nil
}

// request sends one request of the client with the number, and reports whether it counts.
func (l loader) request(what work, number int, c *client, key string) (bool, error) {
	t := &l.tenants[randv2.IntN(manyTenants)]
	switch what {
	case workReplay:
		return true, t.replay(c)
	case workWait:
		return true, t.startAndWait(c, key)
	case workHot, workHotVerdicts:
		t = &l.tenants[manyTenants]
	case workQuiet:
		if t = &l.tenants[0]; number > 0 {
			t = &l.tenants[manyTenants]
		}
		_, err := t.start(c, key)
		return number == 0, err
	case workOthers:
		tenth := t.number%overQuotaEvery == 0
		_, err := t.start(c, key)
		refused, ok := errors.AsType[*refusal](err)
		if tenth && l.spent && ok && refused.status == http.StatusTooManyRequests {
			return false, nil
		}
		return !tenth, err
	case workMany, workVerdicts:
	}
	_, err := t.start(c, key)
	return true, err
}

const (
	verdictLimit = 10 * time.Minute
	pendingRuns  = "SELECT EXISTS (SELECT FROM validation_runs WHERE sweep_after IS NOT NULL)"
	// pendingOfRiver is of the tables of the service on River.
	pendingOfRiver = "SELECT EXISTS (SELECT FROM validation_runs WHERE state <> 'COMPLETED')"
)

// verdicts knows how far the runs are that a service executes.
type verdicts struct {
	db *pgx.Conn
	// pending is a query that says whether there are runs without a verdict.
	pending string
}

// await returns when each run has its verdict.
func (v *verdicts) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, verdictLimit)
	defer cancel()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		var pending bool
		if err := v.db.QueryRow(ctx, v.pending).Scan(&pending); err != nil {
			return fmt.Errorf("look for runs without a verdict: %w", err)
		}
		if !pending {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until all runs have their verdict: %w", ctx.Err())
		case <-ticker.C:
		}
	}
}

// latencies returns how long each run that counts took from its creation to its verdict.
func (v *verdicts) latencies(ctx context.Context, what work, since time.Time, started int) (latencies, error) {
	counted := "%"
	if what == workQuiet {
		counted = orgID(1)
	}
	rows, err := v.db.Query(ctx, `
		SELECT (extract(epoch FROM ended_at - created_at) * 1000000000)::bigint FROM validation_runs
		WHERE source = 'API' AND created_at >= $1 AND state = 'COMPLETED' AND result = 'PASS'
			AND org_id::text LIKE $2`, since, counted)
	if err != nil {
		return nil, fmt.Errorf("read the verdicts: %w", err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowTo[time.Duration])
	if err != nil {
		return nil, fmt.Errorf("read the verdicts: %w", err)
	}
	if len(all) != started {
		return nil, fmt.Errorf("%d runs passed, want all %d that were started", len(all), started)
	}
	return all, nil
}
