package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	warmClients  = 8
	warmDuration = time.Second
	fillDuration = 3 * time.Second
	backlogRuns  = 10_000
	// overQuotaEvery makes a tenth of the organizations those that are over their quota.
	overQuotaEvery = 10
	// someClients are those of the parts that measure one number of them.
	someClients = 32
	youngName   = "young"
)

// measureVerdicts measures each way to run the service beside starts that nothing executes, and pgbench.
func (c *course) measureVerdicts(ctx context.Context) error {
	return c.alone(ctx, func() error {
		lanes := []lane{c.pgbench.lane(c.options.duration), c.lane(c.starts())}
		redis := c.world.redisServer.pid()
		var systems []system
		var err error
		for _, planned := range []struct {
			name             string
			roles, variables []string
			redis            int
		}{
			{laneEmbedded, []string{""}, c.world.embedded(), 0},
			{laneRedis, []string{""}, c.world.redisDatabase(1), redis},
			{laneSplit, []string{"web", "worker"}, c.world.redisDatabase(2), redis},
		} {
			var s system
			if s, err = c.startSystem(ctx, planned.name, planned.roles, planned.variables); err != nil {
				break
			}
			s.load.meter.redis = planned.redis
			systems, lanes = append(systems, s), append(lanes, c.lane(s))
		}
		if err == nil {
			err = c.contest(ctx, c.rows(workVerdicts, workHotVerdicts), lanes, c.clear)
		}
		for _, s := range systems {
			err = errors.Join(err, s.stop())
		}
		return err
	})
}

// measureRates compares starts and replays with pgbench, on tables that a service that has run for a while would have:
// the plans for tables that were empty when they were made are not those that matter.
func (c *course) measureRates(ctx context.Context) error {
	return c.world.service.frozen(func() error {
		for _, what := range []work{workMany, workHot} {
			if _, err := c.pgbench.run(ctx, row{what, warmClients}, fillDuration); err != nil {
				return err
			}
		}
		if err := analyze(ctx, c.world.db); err != nil {
			return err
		}
		lanes := []lane{c.pgbench.lane(c.options.duration), c.lane(c.starts())}
		return c.contest(ctx, c.rows(workMany, workHot, workReplay), lanes, c.world.settle)
	})
}

// measureReplays compares replays with a bare handler that writes the same bytes, which is the limit of the HTTP stack.
func (c *course) measureReplays(ctx context.Context) error {
	bare, err := c.startEcho(ctx)
	if err != nil {
		return err
	}
	err = c.alone(ctx, func() error {
		lanes := []lane{c.lane(bare), c.lane(c.starts())}
		return c.contest(ctx, []row{{workReplay, someClients}}, lanes, c.clear)
	})
	return errors.Join(err, bare.stop())
}

// measureYoung compares the first starts and verdicts of a new database, which has no statistics, with those after it
// was analyzed.
func (c *course) measureYoung(ctx context.Context) error {
	for range c.options.rounds {
		for _, kind := range []struct {
			role      string
			variables []string
			what      work
		}{{"web", nil, workMany}, {"", c.world.embedded(), workVerdicts}} {
			err := c.alone(ctx, func() error { return c.growUp(ctx, kind.role, kind.variables, kind.what) })
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// growUp measures a new database, and the same one after it was analyzed.
func (c *course) growUp(ctx context.Context, role string, variables []string, what work) error {
	tenants, err := newTenants()
	if err != nil {
		return err
	}
	db, url, err := newDatabase(ctx, c.world, youngName)
	if err != nil {
		return err
	}
	server, address, err := c.world.serve(ctx, role, append(variables, "DATABASE_URL="+url)...)
	if err != nil {
		return errors.Join(err, db.Close(ctx))
	}
	load := loader{address: address, tenants: tenants, meter: c.meter}
	load.meter.services = []int{server.pid()}
	if what == workVerdicts {
		load.verdicts = &verdicts{db: db, pending: pendingRuns}
	}
	err = c.measureTwice(ctx, load, db, what)
	if err == nil {
		err = check(ctx, db, tenants)
	}
	if err := errors.Join(err, server.stop(), db.Close(ctx)); err != nil {
		return err
	}
	if _, err := c.world.db.Exec(ctx, "DROP DATABASE "+youngName); err != nil {
		return fmt.Errorf("drop the young database: %w", err)
	}
	return nil
}

func (c *course) measureTwice(ctx context.Context, load loader, db *pgx.Conn, what work) error {
	for _, name := range []string{laneYoung, laneSettled} {
		if name == laneSettled {
			if err := analyze(ctx, db); err != nil {
				return err
			}
		}
		got, err := load.measure(ctx, row{what, someClients}, c.options.youth)
		if err != nil {
			return err
		}
		c.add(key{what, someClients, name}, got)
	}
	return nil
}

// measureBacklog compares the starts of a lone client while the process executes a backlog with those while it is idle.
func (c *course) measureBacklog(ctx context.Context) error {
	for range c.options.rounds {
		if err := c.withEmbedded(ctx, func(s system) error { return c.startBesideBacklog(ctx, s) }); err != nil {
			return err
		}
	}
	return nil
}

func (c *course) startBesideBacklog(ctx context.Context, s system) error {
	// The latency is that of the start, whatever becomes of its run.
	s.load.verdicts = nil
	lone, by := row{workMany, 1}, c.lane(s)
	idle, err := by.measure(ctx, lone)
	if err != nil {
		return err
	}
	for staged := 0; staged < backlogRuns; {
		got, err := c.pgbench.run(ctx, row{workMany, warmClients}, c.options.duration)
		if err != nil {
			return err
		}
		staged += got.requests
	}
	if err := analyze(ctx, c.world.db); err != nil {
		return err
	}
	beside, err := by.measure(ctx, lone)
	if err != nil {
		return err
	}
	var left bool
	if err := c.world.db.QueryRow(ctx, pendingRuns).Scan(&left); err != nil {
		return fmt.Errorf("find the backlog: %w", err)
	}
	if !left {
		return errors.New("the backlog was done before the measurement ended: make -duration shorter")
	}
	c.add(key{workMany, 1, laneIdle}, idle)
	c.add(key{workMany, 1, laneBacklog}, beside)
	return c.clear(ctx)
}

// measureWait compares runs that the request waits for with plain starts, one client at a time. The process executes
// the runs of both.
func (c *course) measureWait(ctx context.Context) error {
	return c.withEmbedded(ctx, func(s system) error {
		// The latency is that of the answer, whatever becomes of the run of a plain start.
		s.load.verdicts = nil
		return c.contest(ctx, []row{{workMany, 1}, {workWait, 1}}, []lane{c.lane(s)}, c.clear)
	})
}

// measureTenant compares the verdicts of an organization's lone client with those beside many clients of another one.
func (c *course) measureTenant(ctx context.Context) error {
	return c.withEmbedded(ctx, func(s system) error {
		err := c.contest(ctx, []row{{workVerdicts, 1}}, []lane{{laneAlone, c.lane(s).measure}}, c.clear)
		if err != nil {
			return err
		}
		return c.contest(ctx, []row{{workQuiet, someClients}}, []lane{{laneBusy, c.lane(s).measure}}, c.clear)
	})
}

// measureQuota compares the starts of the other organizations while a tenth is over its quota with those while none is.
func (c *course) measureQuota(ctx context.Context) error {
	side := func(name string, spent bool) lane {
		return lane{name, func(ctx context.Context, r row) (sample, error) {
			if _, err := c.world.db.Exec(ctx, `
				UPDATE usage_counters
				SET quota = CASE WHEN $1 AND right(org_id::text, 12)::integer % $2 = 0 THEN used END`,
				spent, overQuotaEvery); err != nil {
				return sample{}, fmt.Errorf("set quotas: %w", err)
			}
			load := c.service()
			load.spent = spent
			return load.measure(ctx, r, c.options.duration)
		}}
	}
	return c.contest(ctx, []row{{workOthers, someClients}}, []lane{side(laneWithin, false), side(laneSpent, true)},
		c.world.settle)
}

// measureQueue lets pgbench stage runs, and then has a worker execute them.
func (c *course) measureQueue(ctx context.Context) error {
	worker := lane{laneWorker, func(ctx context.Context, r row) (sample, error) {
		// The rates of a round are computed from the runs that were executed in it.
		if _, err := c.world.db.Exec(ctx,
			"UPDATE validation_runs SET started_at = NULL WHERE started_at IS NOT NULL"); err != nil {
			return sample{}, fmt.Errorf("forget executed runs: %w", err)
		}
		if _, err := c.pgbench.run(ctx, r, c.options.duration); err != nil {
			return sample{}, err
		}
		return c.execute(ctx)
	}}
	return c.contest(ctx, []row{{workMany, warmClients}}, []lane{worker}, c.clear)
}

// execute runs a worker until no run is pending. The time is that between the first run and the last.
func (c *course) execute(ctx context.Context) (sample, error) {
	worker, _, err := c.world.serve(ctx, "worker")
	if err != nil {
		return sample{}, err
	}
	used, err := c.awaitExecuted(ctx, worker)
	if err := errors.Join(err, worker.stop()); err != nil {
		return sample{}, err
	}
	s := sample{cpu: used}
	var failed, swept int
	err = c.world.db.QueryRow(ctx, `
		SELECT count(*), (extract(epoch FROM max(ended_at) - min(started_at)) * 1000000000)::bigint,
			count(*) FILTER (WHERE result NOT IN ('PASS', 'FAIL')), count(*) FILTER (WHERE sweeps > 0)
		FROM validation_runs WHERE started_at IS NOT NULL`).Scan(&s.requests, &s.elapsed, &failed, &swept)
	if err == nil && failed > 0 {
		err = fmt.Errorf("%d runs were not executed as they should", failed)
	}
	if err == nil && swept > 0 {
		err = fmt.Errorf("%d runs were executed because the sweeper found them, and not through the queue", swept)
	}
	return s, err
}

// awaitExecuted returns the processor time that was used until no run was pending.
func (c *course) awaitExecuted(ctx context.Context, worker *process) (cpuTimes, error) {
	clocks := meter{services: []int{worker.pid()}, postgres: c.meter.postgres}
	before, err := clocks.read()
	if err != nil {
		return cpuTimes{}, err
	}
	if err := (&verdicts{db: c.world.db, pending: pendingRuns}).await(ctx); err != nil {
		return cpuTimes{}, err
	}
	after, err := clocks.read()
	return after.sub(before), err
}

// measureRiver compares verdicts, and starts that nothing executes, with those of a service on River.
func (c *course) measureRiver(ctx context.Context) error {
	for _, what := range []work{workMany, workVerdicts} {
		if err := c.measureBesideRiver(ctx, what); err != nil {
			return err
		}
	}
	return nil
}

func (c *course) measureBesideRiver(ctx context.Context, what work) error {
	r, err := startRiver(ctx, c.world.postgres.URL(), c.world.dir, what == workVerdicts)
	if err != nil {
		return err
	}
	load := loader{address: r.address, tenants: r.tenants, meter: c.meter}
	load.meter.services = []int{r.server.pid()}
	if what == workVerdicts {
		load.verdicts = &verdicts{db: r.db, pending: pendingOfRiver}
	}
	beside := c.lane(system{laneRiver, []*process{r.server}, load})
	compete := func(service system) error {
		if err := c.contest(ctx, []row{{what, someClients}}, []lane{beside, c.lane(service)}, c.clear); err != nil {
			return err
		}
		return check(ctx, r.db, r.tenants)
	}
	if err = r.server.freeze(); err == nil && what == workVerdicts {
		err = c.withEmbedded(ctx, compete)
	} else if err == nil {
		err = c.alone(ctx, func() error { return compete(c.starts()) })
	}
	return errors.Join(err, r.server.thaw(), r.stop(ctx))
}
