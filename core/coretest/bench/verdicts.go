package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	verdictLimit = 10 * time.Minute
	warmClients  = 8
	warmDuration = time.Second
)

// verdicts knows how far the runs are that a service executes.
type verdicts struct {
	db *pgx.Conn
	// pending is a query that says whether there are runs without a verdict.
	pending string
}

func (c *course) verdicts() *verdicts {
	return &verdicts{
		db: c.world.db, pending: "SELECT EXISTS (SELECT FROM validation_runs WHERE sweep_after IS NOT NULL)",
	}
}

// await returns when each run has its verdict.
func (v *verdicts) await(ctx context.Context) error {
	return await(ctx, verdictLimit, "all runs have their verdict", func(ctx context.Context) (bool, error) {
		var pending bool
		err := v.db.QueryRow(ctx, v.pending).Scan(&pending)
		return !pending, err
	})
}

// latencies returns how long each run took from its creation to its verdict.
func (v *verdicts) latencies(ctx context.Context, since time.Time, started int) (latencies, error) {
	rows, err := v.db.Query(ctx, `
		SELECT (extract(epoch FROM ended_at - created_at) * 1000000000)::bigint FROM validation_runs
		WHERE source = 'API' AND created_at >= $1 AND state = 'COMPLETED' AND result = 'PASS'`, since)
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

// system is a service in processes of its own, which are frozen while another system is measured.
type system struct {
	name      string
	processes []*process
	load      loader
}

// measure is that of a frozen system.
func (s system) measure(ctx context.Context, what work, clients int, duration time.Duration) (sample, error) {
	if err := s.thaw(); err != nil {
		return sample{}, err
	}
	got, err := s.load.measure(ctx, what, clients, duration)
	return got, errors.Join(err, s.freeze())
}

func (s system) freeze() error { return s.each((*process).freeze) }

func (s system) thaw() error { return s.each((*process).thaw) }

func (s system) stop() error { return errors.Join(s.thaw(), s.each((*process).stop)) }

func (s system) each(do func(*process) error) error {
	var failures []error
	for _, p := range s.processes {
		failures = append(failures, do(p))
	}
	return errors.Join(failures...)
}

const (
	systemEmbedded = "serve, embedded Redis"
	systemRedis    = "serve, redis-server"
	systemSplit    = "web and worker"
	systemStarts   = "starts alone"
	systemPgbench  = "pgbench"
)

// embedded are the variables of a process that has its own Redis.
func (w *world) embedded() []string {
	return []string{"REDIS_URL=", "SV_DATA_DIR=" + filepath.Join(w.dir, "data")}
}

// redisDatabase are the variables of processes that share one database of redis-server, and see no worker of another.
func (w *world) redisDatabase(number int) []string {
	return []string{"REDIS_URL=" + w.redisURL[:len(w.redisURL)-1] + strconv.Itoa(number)}
}

// starts is the web server that is always there, and executes nothing.
func (c *course) starts() system {
	return system{name: systemStarts, processes: []*process{c.world.service}, load: c.service()}
}

// startSystem starts the parts of the service, with "" all of them in one process, as a frozen system that executes its
// runs. The caller has frozen all others.
func (c *course) startSystem(ctx context.Context, name string, parts, variables []string) (system, error) {
	c.show.say("starting " + name)
	s := system{name: name, load: c.service()}
	s.load.meter.services = nil
	for _, part := range parts {
		p, address, err := c.world.serve(ctx, part, variables...)
		if err != nil {
			return system{}, errors.Join(err, s.stop())
		}
		s.processes = append(s.processes, p)
		s.load.meter.services = append(s.load.meter.services, p.pid())
		if part != "worker" {
			s.load.address = address
		}
	}
	// What a service keeps in memory is there when it has run for a while.
	if _, err := s.load.measure(ctx, workReplay, warmClients, warmDuration); err != nil {
		return system{}, errors.Join(err, s.stop())
	}
	s.load.verdicts = c.verdicts()
	return s, s.freeze()
}

// alone freezes the web server that is always there, and ends the runs that it has started.
func (c *course) alone(ctx context.Context, do func() error) error {
	return c.world.service.frozen(func() error {
		if err := c.clear(ctx); err != nil {
			return err
		}
		return do()
	})
}

// withSystems starts each way to run the service, and ends those that it has started.
func (c *course) withSystems(ctx context.Context, do func([]system) error) error {
	systems := []system{c.starts()}
	var err error
	for _, planned := range []struct {
		name             string
		parts, variables []string
		redis            int
	}{
		{systemEmbedded, []string{""}, c.world.embedded(), 0},
		{systemRedis, []string{""}, c.world.redisDatabase(1), c.world.redisServer.pid()},
		{systemSplit, []string{"web", "worker"}, c.world.redisDatabase(2), c.world.redisServer.pid()},
	} {
		var s system
		if s, err = c.startSystem(ctx, planned.name, planned.parts, planned.variables); err != nil {
			break
		}
		s.load.meter.redis = planned.redis
		systems = append(systems, s)
	}
	if err == nil {
		err = do(systems)
	}
	for _, s := range systems[1:] {
		err = errors.Join(err, s.stop())
	}
	return err
}

// verdictRow is what one load reached with each system, round by round.
type verdictRow struct {
	what    work
	clients int
	samples map[string][]sample
}

// measureVerdicts measures each load with each system in turn, so that the ratios are of the same minute.
func (c *course) measureVerdicts(ctx context.Context) ([]goal, error) {
	rows := plannedVerdicts(c.options.clients)
	err := c.alone(ctx, func() error {
		return c.withSystems(ctx, func(systems []system) error {
			c.show.plan(c.options.scale.rounds * len(rows) * (len(systems) + 1))
			return c.verdictRounds(ctx, rows, systems)
		})
	})
	if err != nil {
		return nil, err
	}
	c.verdictRows = rows
	return verdictGoals(rows), nil
}

func plannedVerdicts(clients []int) []verdictRow {
	rows := []verdictRow{{what: workVerdicts, clients: 1}}
	for _, n := range clients {
		for _, what := range []work{workVerdicts, workHotVerdicts} {
			if n > 1 || what != workVerdicts {
				rows = append(rows, verdictRow{what: what, clients: n})
			}
		}
	}
	for i := range rows {
		rows[i].samples = make(map[string][]sample)
	}
	return rows
}

func (c *course) verdictRounds(ctx context.Context, rows []verdictRow, systems []system) error {
	for range c.options.scale.rounds {
		for _, row := range rows {
			if err := c.addVerdicts(ctx, row, systemPgbench, func() (sample, error) {
				return c.yardstick.run(ctx, row.what, row.clients, c.options.duration)
			}); err != nil {
				return err
			}
			for _, s := range systems {
				if err := c.addVerdicts(ctx, row, s.name, func() (sample, error) {
					return s.measure(ctx, row.what, row.clients, c.options.duration)
				}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// addVerdicts measures once, when nothing is left of what was measured before.
func (c *course) addVerdicts(ctx context.Context, row verdictRow, name string, measure func() (sample, error)) error {
	step := fmt.Sprintf("%s, clients: %d, %s", row.what, row.clients, name)
	c.show.begin(step)
	if err := c.clear(ctx); err != nil {
		return err
	}
	got, err := measure()
	if err != nil {
		return fmt.Errorf("%s: %w", step, err)
	}
	row.samples[name] = append(row.samples[name], got)
	c.show.end(fmt.Sprintf("%s: %.0f/s", step, got.perSecond()))
	return nil
}

// clear ends the runs that nothing has executed, while the systems that might are frozen.
func (c *course) clear(ctx context.Context) error {
	if err := c.world.cancelPending(ctx); err != nil {
		return err
	}
	return c.world.settle(ctx)
}
