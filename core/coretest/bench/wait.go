package main

import (
	"context"
	"errors"
	"fmt"
)

// measureWait compares runs that the request waits for with plain starts, one client at a time. The process executes
// the runs of both.
func (c *course) measureWait(ctx context.Context) ([]goal, error) {
	waited := goal{
		what: "start to verdict with Prefer: wait, p50 to that of a plain start, 1 client", bound: atMost(2, unitTimes),
	}
	for range c.options.scale.rounds {
		var plain, verdict sample
		err := c.alone(ctx, func() error {
			s, err := c.startSystem(ctx, systemEmbedded, []string{""}, c.world.embedded())
			if err != nil {
				return err
			}
			// The latency is that of the answer, whatever becomes of the run of a plain start.
			s.load.verdicts = nil
			if plain, err = s.measure(ctx, workMany, 1, c.options.duration); err == nil {
				verdict, err = s.measure(ctx, workWait, 1, c.options.duration)
			}
			return errors.Join(err, s.stop())
		})
		if err != nil {
			return nil, err
		}
		waited.values = append(waited.values, millis(verdict, 50)/millis(plain, 50))
		waited.note = fmt.Sprintf("%.2f ms, %.2f ms plain", millis(verdict, 50), millis(plain, 50))
	}
	return []goal{waited}, nil
}
