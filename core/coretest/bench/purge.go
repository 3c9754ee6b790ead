package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const (
	purgePace    = 1000
	purgeClients = 64
	purgeLimit   = 20 * time.Minute
	// vacuumLimit is far above what the server takes to look for work, which is a minute, and to do it.
	vacuumLimit = 10 * time.Minute
	p99         = 99
)

// measurePurge starts runs at a fixed pace, at first alone and then while expired keys are purged.
func (c *course) measurePurge(ctx context.Context) ([]goal, error) {
	many := thousands(float64(c.options.scale.purged))
	slower := goal{
		what:  "p99 of 1,000 starts a second while " + many + " expired keys are purged, to that before",
		bound: atMost(1.5, unitTimes),
	}
	refused := goal{what: "starts that were refused meanwhile", bound: atMost(0, unitCount)}
	grown := goal{
		what:  "size of the table of keys after each purge, by the keys that it held, to that after the first",
		bound: atMost(1.1, unitTimes),
	}
	var first float64
	for range c.options.scale.rounds {
		if err := c.addExpired(ctx); err != nil {
			return nil, err
		}
		before, err := c.paceFor(ctx, c.options.scale.before)
		if err != nil {
			return nil, err
		}
		begun := time.Now()
		during, err := c.paceBeside(ctx, c.purge)
		if err != nil {
			return nil, err
		}
		slower.values = append(slower.values, millisOf(during.latencies, p99)/millisOf(before.latencies, p99))
		slower.note = fmt.Sprintf("%.1f ms, %.1f ms before; purged in %s", millisOf(during.latencies, p99),
			millisOf(before.latencies, p99), time.Since(begun).Round(time.Second))
		refused.values = append(refused.values, float64(during.refused))
		size, held, err := c.keysSize(ctx)
		if err != nil {
			return nil, err
		}
		if first == 0 {
			first = size / held
		}
		grown.values = append(grown.values, size/held/first)
		grown.note += fmt.Sprintf("%.0f MB for %s keys, ", size/1e6, thousands(held))
	}
	grown.note = strings.TrimSuffix(grown.note, ", ") + "; the starts' own keys stay"
	return []goal{slower, refused, grown}, nil
}

// paceFor starts runs at the pace for a time.
func (c *course) paceFor(ctx context.Context, d time.Duration) (paced, error) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	return c.service().pace(ctx, purgePace, purgeClients)
}

// paceBeside starts runs at the pace while something else is done.
func (c *course) paceBeside(ctx context.Context, do func(context.Context) error) (paced, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		defer cancel()
		done <- do(ctx)
	}()
	load, err := c.service().pace(ctx, purgePace, purgeClients)
	cancel()
	if failed := <-done; err == nil {
		err = failed
	}
	return load, err
}

// purge runs the command that does what the scheduler does.
func (c *course) purge(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, purgeLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.world.binary(), "idempotency", "purge")
	cmd.Env = append(os.Environ(), "DATABASE_URL="+c.world.postgres.URL(), "REDIS_URL="+c.world.redisURL)
	cmd.Dir = filepath.Dir(c.world.binary())
	output, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("purge: %w: %s", err, output)
	}
	if want := fmt.Sprintf("%d expired keys", c.options.scale.purged); !strings.Contains(string(output), want) {
		return fmt.Errorf("purge: %q, want %s", output, want)
	}
	return nil
}

// addExpired fills in a minute what takes a day in earnest, so it waits until the server has vacuumed the table by
// itself, as it would long have.
func (c *course) addExpired(ctx context.Context) error {
	c.show.say("adding expired keys when the last ones are vacuumed")
	if err := await(ctx, vacuumLimit, "the table of keys is vacuumed", c.keysVacuumed); err != nil {
		return err
	}
	if err := c.world.settle(ctx); err != nil {
		return err
	}
	if err := fill(ctx, c.world.db, expiredScript, int64(c.options.scale.purged)); err != nil {
		return err
	}
	return analyze(ctx, c.world.db)
}

// keysVacuumed reports whether there are too few dead rows for the server to care.
func (c *course) keysVacuumed(ctx context.Context) (bool, error) {
	var vacuumed bool
	err := c.world.db.QueryRow(ctx, `
		SELECT n_dead_tup < 0.02 * n_live_tup + 50
			AND NOT EXISTS (SELECT FROM pg_stat_progress_vacuum AS v WHERE v.relid = t.relid)
		FROM pg_stat_user_tables AS t WHERE relname = 'idempotency_keys'`).Scan(&vacuumed)
	return vacuumed, err
}

// keysSize returns the size of the table, and how many keys it held at once: the purged ones and those of the starts,
// which stay.
func (c *course) keysSize(ctx context.Context) (float64, float64, error) {
	var size float64
	err := c.world.db.QueryRow(ctx, "SELECT pg_total_relation_size('idempotency_keys')::float8").Scan(&size)
	if err != nil {
		return 0, 0, fmt.Errorf("measure the table: %w", err)
	}
	left, err := c.keys(ctx)
	return size, float64(c.options.scale.purged + left), err
}
