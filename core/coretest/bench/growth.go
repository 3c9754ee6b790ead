package main

import (
	"context"
	_ "embed"
	"fmt"
	"syscall"

	"github.com/jackc/pgx/v5"
)

//go:embed grown.sql
var grownScript string

//go:embed expired.sql
var expiredScript string

const (
	growthClients = 32
	// yardstickClients is about the number that pgbench does best with.
	yardstickClients = 8
	// fillChunk keeps a transaction short enough to be interrupted.
	fillChunk = 50_000
	// diskReserve is left free for the log, and diskFactor has room for what is measured in between.
	diskReserve = 4 << 30
	diskFactor  = 1.2
)

// fill adds rows by a script that takes the first and the last number of a chunk. The foreign keys of these rows are
// not checked, as that would take most of the time.
func fill(ctx context.Context, db *pgx.Conn, script string, rows int64) error {
	var first int64
	if err := db.QueryRow(ctx, "SELECT coalesce(max(n), 0) FROM filled").Scan(&first); err != nil {
		return fmt.Errorf("look what is filled: %w", err)
	}
	for begin := first; begin < first+rows; begin += fillChunk {
		last := min(begin+fillChunk, first+rows)
		err := pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "SET LOCAL session_replication_role = replica"); err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, script, begin+1, last); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, "INSERT INTO filled VALUES ($1)", last)
			return err
		})
		if err != nil {
			return fmt.Errorf("fill tables: %w", err)
		}
	}
	return nil
}

// speed is what the service did at a size of the tables.
type speed struct {
	keys            int
	starts, replays paces
}

// paces are rates in times of what pgbench did on a small table right before, and the processor time in µs that
// PostgreSQL used for a request of the service.
type paces struct {
	ratios, costs []float64
}

func (p paces) cost() float64 { return spreadOf(p.costs).median }

// measureGrowth measures starts and replays at growing numbers of keys. How fast the machine is at the time is told by
// pgbench on tables that stay small.
func (c *course) measureGrowth(ctx context.Context) ([]goal, error) {
	small, err := newSmall(ctx, c)
	if err != nil {
		return nil, err
	}
	defer small.close(ctx)
	var speeds []speed
	var goals []goal
	for _, keys := range c.options.scale.keys {
		short, err := c.lacksDisk(ctx, keys)
		if err != nil {
			return nil, err
		}
		if short != "" {
			goals = append(goals, growthGoals(speed{}, speed{keys: keys}, short)...)
			continue
		}
		if err := c.grow(ctx, keys); err != nil {
			return nil, err
		}
		now, err := c.speedAt(ctx, small, keys)
		if err != nil {
			return nil, err
		}
		if speeds = append(speeds, now); len(speeds) > 1 {
			goals = append(goals, growthGoals(speeds[0], now, "")...)
		}
	}
	pages, err := c.measurePages(ctx)
	return append(goals, pages...), err
}

// grow brings the tables to about so many keys, each with its run, its document and its audit record.
func (c *course) grow(ctx context.Context, keys int) error {
	c.show.say("growing to " + thousands(float64(keys)) + " keys")
	if err := c.world.settle(ctx); err != nil {
		return err
	}
	there, err := c.keys(ctx)
	if err != nil {
		return err
	}
	if there < keys {
		if err := fill(ctx, c.world.db, grownScript, int64(keys-there)); err != nil {
			return err
		}
	}
	return analyze(ctx, c.world.db)
}

func (c *course) keys(ctx context.Context) (int, error) {
	var n int
	if err := c.world.db.QueryRow(ctx, "SELECT count(*) FROM idempotency_keys").Scan(&n); err != nil {
		return 0, fmt.Errorf("count keys: %w", err)
	}
	return n, nil
}

// lacksDisk says why the disk is too small for so many keys, judged by what the keys so far take.
func (c *course) lacksDisk(ctx context.Context, keys int) (string, error) {
	there, err := c.keys(ctx)
	if err != nil {
		return "", err
	}
	var size float64
	if err := c.world.db.QueryRow(ctx, "SELECT pg_database_size(current_database())::float8").Scan(&size); err != nil {
		return "", fmt.Errorf("measure the database: %w", err)
	}
	var disk syscall.Statfs_t
	if err := syscall.Statfs(c.world.dir, &disk); err != nil {
		return "", fmt.Errorf("measure the disk: %w", err)
	}
	free := float64(disk.Bavail) * float64(disk.Bsize)
	needed := size/float64(there)*float64(keys-there)*diskFactor + diskReserve
	if needed <= free {
		return "", nil
	}
	return fmt.Sprintf("needs %.0f GB of disk, %.0f GB are free", needed/1e9, free/1e9), nil
}

func (c *course) speedAt(ctx context.Context, small *small, keys int) (speed, error) {
	now := speed{keys: keys}
	for range c.options.scale.rounds {
		for what, paces := range map[work]*paces{workMany: &now.starts, workReplay: &now.replays} {
			yardstick, err := c.sample(ctx, small, what, yardstickClients)
			if err != nil {
				return speed{}, err
			}
			service, err := c.sample(ctx, c.service(), what, growthClients)
			if err != nil {
				return speed{}, err
			}
			paces.ratios = append(paces.ratios, service.perSecond()/yardstick.perSecond())
			paces.costs = append(paces.costs, each(service, service.cpu.postgres))
		}
	}
	return now, nil
}

// growthGoals compare with the smallest tables.
func growthGoals(base, now speed, unmeasured string) []goal {
	const million = 1_000_000
	least := 0.9
	if now.keys > million {
		least = 0.85
	}
	goals := []goal{{what: "fresh starts"}, {what: "replays"}}
	for i, paces := range [][2]paces{{base.starts, now.starts}, {base.replays, now.replays}} {
		goals[i].what += fmt.Sprintf(", 32 clients, at %s keys to those at the fewest", thousands(float64(now.keys)))
		goals[i].bound, goals[i].note = atLeast(least, unitShare), unmeasured
		if unmeasured != "" {
			continue
		}
		first := spreadOf(paces[0].ratios).median
		for _, ratio := range paces[1].ratios {
			goals[i].values = append(goals[i].values, ratio/first)
		}
		goals[i].note = fmt.Sprintf(
			"%.2f of pgbench on a small table, %.2f with %s keys; PostgreSQL's CPU %.0f µs a request, %.0f µs",
			spreadOf(paces[1].ratios).median, first, thousands(float64(base.keys)), paces[1].cost(), paces[0].cost())
	}
	return goals
}
