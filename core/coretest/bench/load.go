package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	randv2 "math/rand/v2"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
)

// work is what is measured.
type work string

const (
	workMany   work = "fresh starts, 1,000 organizations"
	workHot    work = "fresh starts, one organization"
	workReplay work = "replays of 1,000 keys"
	// Of these two the starts of nine in ten organizations count, before and while the tenth is over its quota.
	workOthers work = "fresh starts of nine in ten organizations"
	workBeside work = "fresh starts of nine in ten organizations, the tenth over its quota"
	workWait   work = "runs that are waited for"
	// Of these two each run is waited for until it has its verdict, after the last was started.
	workVerdicts    work = "verdicts, 1,000 organizations"
	workHotVerdicts work = "verdicts, one organization"
)

// sample is one measurement.
type sample struct {
	requests  int
	elapsed   time.Duration
	latencies latencies
	cpu       cpuTimes
}

func (s sample) perSecond() float64 { return float64(s.requests) / s.elapsed.Seconds() }

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
}

// measure lets clients send requests for the given time, each the next one as soon as it has the answer. The first
// wrong answer ends the measurement with an error.
func (l loader) measure(ctx context.Context, what work, clients int, duration time.Duration) (sample, error) {
	connections := make([]*client, 0, clients)
	defer func() {
		for _, c := range connections {
			c.close()
		}
	}()
	for range clients {
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
	all, err := l.drive(ctx, what, connections, begun.Add(duration))
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
		all, err = l.verdicts.latencies(ctx, begun, len(all))
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
			parts[i], err = l.driveOne(what, c, end)
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

func (l loader) driveOne(what work, c *client, end time.Time) (latencies, error) {
	var taken latencies
	// Nobody else has used these keys, and nobody will.
	prefix, key := rand.Text()+"-", 0
	for begun := time.Now(); begun.Before(end); {
		key++
		counted, err := l.request(what, c, prefix+strconv.Itoa(key))
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

// request sends one request, and reports whether it counts.
func (l loader) request(what work, c *client, key string) (bool, error) {
	t := &l.tenants[randv2.IntN(manyTenants)]
	switch what {
	case workHot, workHotVerdicts:
		_, err := l.tenants[manyTenants].start(c, key)
		return true, err
	case workReplay:
		return true, t.replay(c)
	case workMany, workVerdicts:
		_, err := t.start(c, key)
		return true, err
	case workWait:
		return true, t.startAndWait(c, key)
	case workOthers, workBeside:
		_, err := t.start(c, key)
		if t.number%overQuotaEvery != 0 {
			return true, err
		}
		if refused, ok := errors.AsType[*refusal](err); ok && refused.status == statusSpent && what == workBeside {
			return false, nil
		}
		return false, err
	default:
		return false, fmt.Errorf("unknown work %q", what)
	}
}
