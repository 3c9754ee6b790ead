package main

import (
	"context"
	"crypto/rand"
	"errors"
	randv2 "math/rand/v2"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// paced is a load at a fixed rate. A latency counts from the time at which the request was due, so that one that had to
// wait for another's answer is not reported as a fast one.
type paced struct {
	latencies latencies
	refused   int
}

// pace starts so many runs a second over the many organizations until ctx ends.
func (l loader) pace(ctx context.Context, perSecond, clients int) (paced, error) {
	group, groupCtx := errgroup.WithContext(context.WithoutCancel(ctx))
	parts := make([]paced, clients)
	begun, interval := time.Now(), time.Second/time.Duration(perSecond)
	var next atomic.Int64
	for i := range parts {
		group.Go(func() error {
			c, err := dial(groupCtx, l.address)
			if err != nil {
				return err
			}
			defer c.close()
			prefix := rand.Text() + "-"
			for groupCtx.Err() == nil {
				turn := next.Add(1)
				due := begun.Add(time.Duration(turn) * interval)
				if !waitUntil(ctx, due) {
					return nil
				}
				_, err := l.tenants[randv2.IntN(manyTenants)].start(c, prefix+strconv.FormatInt(turn, 10))
				if _, ok := errors.AsType[*refusal](err); ok {
					parts[i].refused++
				} else if err != nil {
					return err
				}
				parts[i].latencies = append(parts[i].latencies, time.Since(due))
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return paced{}, err
	}
	var all paced
	for _, part := range parts {
		all.latencies = append(all.latencies, part.latencies...)
		all.refused += part.refused
	}
	slices.Sort(all.latencies)
	return all, nil
}

// waitUntil reports whether the time has come before ctx ended.
func waitUntil(ctx context.Context, due time.Time) bool {
	timer := time.NewTimer(time.Until(due))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return ctx.Err() == nil
	}
}
