package main

import (
	"context"
	"fmt"
)

// measureWait compares runs that the request waits for with plain starts, one client at a time.
func (c *course) measureWait(ctx context.Context) ([]goal, error) {
	waited := goal{
		what: "start to verdict with Prefer: wait, p50 to that of a plain start, 1 client", bound: atMost(2, unitTimes),
	}
	for range c.options.scale.rounds {
		plain, err := c.sample(ctx, c.service(), workMany, 1)
		if err != nil {
			return nil, err
		}
		verdict, err := c.sample(ctx, c.service(), workWait, 1)
		if err != nil {
			return nil, err
		}
		waited.values = append(waited.values, millis(verdict, 50)/millis(plain, 50))
		waited.note = fmt.Sprintf("%.2f ms, %.2f ms plain", millis(verdict, 50), millis(plain, 50))
	}
	return []goal{waited}, nil
}
