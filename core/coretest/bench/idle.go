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
		used, size, err := c.idle(ctx)
		if err != nil {
			return nil, err
		}
		processor.values = append(processor.values, used)
		memory.values = append(memory.values, size/largeUnit)
	}
	processor.note = fmt.Sprintf("without its PostgreSQL, over %s", c.options.scale.idle)
	return []goal{processor, memory}, nil
}

// idle returns the part of a processor, in percent, and the memory, in bytes.
func (c *course) idle(ctx context.Context) (used, size float64, err error) {
	server, _, err := c.world.serve(ctx, "", "DATABASE_URL=", "REDIS_URL=",
		"SV_DATA_DIR="+filepath.Join(c.world.dir, "idle"))
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, server.stop()) }()
	if err := pause(ctx, settling); err != nil {
		return 0, 0, err
	}
	before, err := readStat(server.pid())
	if err != nil {
		return 0, 0, err
	}
	if err := pause(ctx, c.options.scale.idle); err != nil {
		return 0, 0, err
	}
	after, err := readStat(server.pid())
	if err != nil {
		return 0, 0, err
	}
	size, err = residentMemory(server.pid(), "VmRSS:")
	return (after.used - before.used).Seconds() / c.options.scale.idle.Seconds() * wholeShares, size, err
}

func pause(ctx context.Context, duration time.Duration) error {
	waitUntil(ctx, time.Now().Add(duration))
	return ctx.Err()
}
