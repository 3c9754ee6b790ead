package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"
)

// settling is how long a service that has started does what comes once.
const settling = 5 * time.Second

// measureIdle reads what a service uses that nobody calls, with its own PostgreSQL and Redis.
func (c *course) measureIdle(ctx context.Context) ([]goal, error) {
	processor := goal{what: "CPU of an idle service, embedded PostgreSQL and Redis", bound: atMost(1, unitCPU)}
	memory := goal{what: "resident memory of an idle service", bound: atMost(150, unitMebibytes)}
	for range c.options.scale.rounds {
		server, _, err := c.world.serve(ctx, "", "DATABASE_URL=", "REDIS_URL=",
			"SV_DATA_DIR="+filepath.Join(c.world.dir, "idle"))
		if err != nil {
			return nil, err
		}
		used, err := c.usedIdle(ctx, server)
		if err == nil {
			var size float64
			size, err = familyMemory(server.pid())
			memory.values = append(memory.values, size/largeUnit)
		}
		if err := errors.Join(err, server.stop()); err != nil {
			return nil, err
		}
		processor.values = append(processor.values, used)
	}
	processor.note = fmt.Sprintf("all its processes, over %s", c.options.scale.idle)
	memory.note = "all its processes"
	return []goal{processor, memory}, nil
}

// usedIdle returns which part of a processor the server and its children use, in percent.
func (c *course) usedIdle(ctx context.Context, server *process) (float64, error) {
	if err := pause(ctx, settling); err != nil {
		return 0, err
	}
	before, err := familyTime(server.pid())
	if err != nil {
		return 0, err
	}
	if err := pause(ctx, c.options.scale.idle); err != nil {
		return 0, err
	}
	after, err := familyTime(server.pid())
	return (after - before).Seconds() / c.options.scale.idle.Seconds() * wholeShares, err
}

func pause(ctx context.Context, duration time.Duration) error {
	waitUntil(ctx, time.Now().Add(duration))
	return ctx.Err()
}
