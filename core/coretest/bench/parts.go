package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
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

// part measures some of the targets. Each begins with the same small tables.
type part struct {
	name, title string
	run         func(*bench, context.Context) error
}

func parts() []part {
	return []part{
		{"verdicts", "runs from their start to their verdict", (*bench).measureVerdicts},
		{"young", "a young database and a settled one", (*bench).measureYoung},
		{"backlog", "starts beside a backlog", (*bench).measureBacklog},
		{"rates", "starts and replays beside pgbench", (*bench).measureRates},
		{"replays", "replays beside a bare handler", (*bench).measureReplays},
		{"quota", "organizations over their quota beside others", (*bench).measureQuota},
		{"wait", "runs that are waited for", (*bench).measureWait},
		{"queue", "runs through the queue", (*bench).measureQueue},
		{"tenant", "an organization beside a busy one", (*bench).measureTenant},
		{"events", "verdicts that write events, and that do not", (*bench).measureEvents},
		{"processes", "one, two and four processes on the same processors", (*bench).measureProcesses},
		{"soak", "half of the capacity for long", (*bench).measureSoak},
		{"river", "the same service on River", (*bench).measureRiver},
	}
}

// lane is who bears a load.
type lane struct {
	name    string
	measure func(context.Context, row, time.Duration) (sample, error)
}

func (s service) lane() lane { return lane{s.name, s.measure} }

// contest measures each load in each lane, in turn, so that the ratios are of the same minute. Who goes first changes
// from round to round, so that no lane always meets the larger tables or the other's checkpoints.
func (b *bench) contest(ctx context.Context, rows []row, lanes ...lane) error {
	for range b.options.rounds {
		for _, r := range rows {
			for _, l := range lanes {
				if err := b.clear(ctx); err != nil {
					return err
				}
				before := len(b.ends)
				got, err := l.measure(ctx, r, b.options.duration)
				if err := errors.Join(err, b.end(ctx, before)); err != nil {
					return fmt.Errorf("%s, clients: %d, %s: %w", r.what, r.clients, l.name, err)
				}
				b.record(r, l.name, got)
			}
		}
		slices.Reverse(lanes)
	}
	return nil
}

func (b *bench) record(r row, lane string, got sample) {
	k := key{r.what, r.clients, lane}
	i := slices.IndexFunc(b.results, func(r *result) bool { return r.key == k })
	if i < 0 {
		i, b.results = len(b.results), append(b.results, &result{key: k})
	}
	b.results[i].samples = append(b.results[i].samples, got)
	fmt.Fprintf(b.log, "%s, clients: %d, %s: %.0f/s\n", r.what, r.clients, lane, rateOf(got))
}

// rows are the loads by each number of clients. A lone client shows the latency of one that meets nobody.
func (b *bench) rows(works ...work) []row {
	var rows []row
	for _, n := range slices.Compact(append([]int{1}, b.options.clients...)) {
		for _, what := range works {
			rows = append(rows, row{what, n})
		}
	}
	return rows
}

// all is the service in one process with its own Redis.
func (b *bench) all(ctx context.Context, name string) (service, error) {
	return b.execute(ctx, name, "", "")
}

// measureVerdicts measures each way to run the service beside starts that nothing executes, and pgbench.
func (b *bench) measureVerdicts(ctx context.Context) error {
	lanes := []lane{{lanePgbench, b.pgbench}, b.starts.lane()}
	for _, way := range []struct {
		// Who shares a database of redis-server takes the runs of the others.
		name, redisURL string
		roles          []string
	}{
		{laneEmbedded, "", []string{""}},
		{laneRedis, b.redisURL + "1", []string{""}},
		{laneSplit, b.redisURL + "2", []string{"web", "worker"}},
	} {
		s, err := b.execute(ctx, way.name, way.redisURL, way.roles...)
		if err != nil {
			return err
		}
		lanes = append(lanes, s.lane())
	}
	return b.contest(ctx, b.rows(workVerdicts, workHotVerdicts), lanes...)
}

// measureYoung compares the first starts and verdicts of a new database, which has no statistics, with those after it
// was analyzed.
func (b *bench) measureYoung(ctx context.Context) error {
	return b.contest(ctx, []row{{workMany, someClients}, {workVerdicts, someClients}}, lane{laneSettled, b.growUp})
}

// growUp measures a new database, and the same one after it was analyzed.
func (b *bench) growUp(ctx context.Context, r row, _ time.Duration) (sample, error) {
	if _, err := b.db.Exec(ctx, "CREATE DATABASE "+youngName); err != nil {
		return sample{}, fmt.Errorf("create the young database: %w", err)
	}
	b.atEnd(func(ctx context.Context) error {
		_, err := b.db.Exec(ctx, "DROP DATABASE "+youngName)
		return err
	})
	address := b.address + "&dbname=" + youngName
	role, redisURL, pending := "web", b.redisURL+"0", ""
	if r.what == workVerdicts {
		role, redisURL, pending = "", "", pendingRuns
	}
	s, err := b.serve(ctx, laneYoung, address, redisURL, role)
	if err != nil {
		return sample{}, err
	}
	if s.db, err = b.connect(ctx, address); err != nil {
		return sample{}, err
	}
	if err := b.seed(ctx, s.db); err != nil {
		return sample{}, err
	}
	s.tenants, s.pending = b.newTenants(), pending
	young, err := s.measure(ctx, r, b.options.youth)
	if err != nil {
		return sample{}, err
	}
	b.record(r, laneYoung, young)
	if err := analyze(ctx, s.db); err != nil {
		return sample{}, err
	}
	settled, err := s.measure(ctx, r, b.options.youth)
	return settled, errors.Join(err, s.check(ctx))
}

// measureBacklog compares the starts of a lone client while the process executes a backlog with those while it is idle.
func (b *bench) measureBacklog(ctx context.Context) error {
	side := func(name string, runs int) lane {
		return lane{name, func(ctx context.Context, r row, duration time.Duration) (sample, error) {
			s, err := b.all(ctx, name)
			if err != nil {
				return sample{}, err
			}
			// The latency is that of the start, whatever becomes of its run.
			s.pending = ""
			for staged := 0; staged < runs; {
				got, err := b.pgbench(ctx, row{workMany, warmClients}, duration)
				if err != nil {
					return sample{}, err
				}
				staged += got.requests
			}
			if err := analyze(ctx, b.db); err != nil {
				return sample{}, err
			}
			got, err := s.measure(ctx, r, duration)
			if err != nil {
				return sample{}, err
			}
			var left bool
			err = b.db.QueryRow(ctx, pendingRuns).Scan(&left)
			if err == nil && !left && runs > 0 {
				err = errors.New("the backlog was done before the measurement ended: make -duration shorter")
			}
			return got, err
		}}
	}
	return b.contest(ctx, []row{{workMany, 1}}, side(laneIdle, 0), side(laneBacklog, backlogRuns))
}

// measureRates compares starts and replays with pgbench, on tables that a service that has run for a while would have:
// the plans for tables that were empty when they were made are not those that matter.
func (b *bench) measureRates(ctx context.Context) error {
	for _, what := range []work{workMany, workHot} {
		if _, err := b.pgbench(ctx, row{what, warmClients}, fillDuration); err != nil {
			return err
		}
	}
	if err := analyze(ctx, b.db); err != nil {
		return err
	}
	return b.contest(ctx, b.rows(workMany, workHot, workReplay), lane{lanePgbench, b.pgbench}, b.starts.lane())
}

// measureReplays compares replays with a bare handler that writes the same bytes, which is the limit of the HTTP stack.
func (b *bench) measureReplays(ctx context.Context) error {
	bare, err := b.startBare(ctx)
	if err != nil {
		return err
	}
	return b.contest(ctx, []row{{workReplay, someClients}}, bare.lane(), b.starts.lane())
}

// measureQuota compares the starts of the other organizations while a tenth is over its quota with those while none is.
func (b *bench) measureQuota(ctx context.Context) error {
	side := func(name string, spent bool) lane {
		return lane{name, func(ctx context.Context, r row, duration time.Duration) (sample, error) {
			if _, err := b.db.Exec(ctx, `
				UPDATE usage_counters
				SET quota = CASE WHEN $1 AND right(org_id::text, 12)::integer % $2 = 0 THEN used END`,
				spent, overQuotaEvery); err != nil {
				return sample{}, fmt.Errorf("set quotas: %w", err)
			}
			s := b.starts
			s.spent = spent
			return s.measure(ctx, r, duration)
		}}
	}
	return b.contest(ctx, []row{{workOthers, someClients}}, side(laneWithin, false), side(laneSpent, true))
}

// measureWait compares runs that the request waits for with plain starts, one client at a time. The process executes
// the runs of both.
func (b *bench) measureWait(ctx context.Context) error {
	s, err := b.all(ctx, laneEmbedded)
	if err != nil {
		return err
	}
	// The latency is that of the answer, whatever becomes of the run of a plain start.
	s.pending = ""
	return b.contest(ctx, []row{{workMany, 1}, {workWait, 1}}, s.lane())
}

// measureEvents compares verdicts that write events with those for which nobody listens, and with a database that does
// not ask who listens.
func (b *bench) measureEvents(ctx context.Context) error {
	s, err := b.all(ctx, laneEmbedded)
	if err != nil {
		return err
	}
	after := func(name, trigger string, listens bool) lane {
		return lane{name, func(ctx context.Context, r row, duration time.Duration) (sample, error) {
			_, err := b.db.Exec(ctx, "ALTER TABLE validation_runs "+trigger+" TRIGGER tr_validation_runs_events")
			if err == nil {
				_, err = b.db.Exec(ctx, "UPDATE organizations SET event_log = $1", listens)
			}
			if err != nil {
				return sample{}, fmt.Errorf("decide who listens for events: %w", err)
			}
			return s.measure(ctx, r, duration)
		}}
	}
	b.atEnd(func(ctx context.Context) error {
		_, err := b.db.Exec(ctx, `UPDATE organizations SET event_log = false; TRUNCATE events CASCADE;
			ALTER TABLE validation_runs ENABLE TRIGGER tr_validation_runs_events`)
		return err
	})
	return b.contest(ctx, []row{{workVerdicts, someClients}}, after(laneUntold, "DISABLE", false),
		after(laneUnheard, "ENABLE", false), after(laneHeard, "ENABLE", true))
}

// measureQueue lets pgbench stage runs, and then has a worker execute them.
func (b *bench) measureQueue(ctx context.Context) error {
	return b.contest(ctx, []row{{workMany, warmClients}}, lane{laneWorker, b.work})
}

// work runs a worker until no run is pending. The time is that between the first run and the last.
func (b *bench) work(ctx context.Context, r row, duration time.Duration) (sample, error) {
	begun := time.Now()
	if _, err := b.pgbench(ctx, r, duration); err != nil {
		return sample{}, err
	}
	worker, err := b.serve(ctx, laneWorker, b.address, b.redisURL+"0", "worker")
	if err != nil {
		return sample{}, err
	}
	worker.pending = pendingRuns
	var got sample
	if err := worker.thawed(func() error {
		got, err = worker.during(ctx, func() error { return nil })
		return err
	}); err != nil {
		return sample{}, err
	}
	var failed, swept int
	err = b.db.QueryRow(ctx, `
		SELECT count(*), (extract(epoch FROM max(ended_at) - min(started_at)) * 1000000000)::bigint,
			count(*) FILTER (WHERE result NOT IN ('PASS', 'FAIL')), count(*) FILTER (WHERE sweeps > 0)
		FROM validation_runs WHERE created_at >= $1 AND started_at IS NOT NULL`, begun).
		Scan(&got.requests, &got.elapsed, &failed, &swept)
	if err == nil && failed > 0 {
		err = fmt.Errorf("%d runs were not executed as they should", failed)
	}
	if err == nil && swept > 0 {
		err = fmt.Errorf("%d runs were executed because the sweeper found them, and not through the queue", swept)
	}
	return got, err
}

// measureTenant compares the verdicts of an organization's lone client with those beside many clients of another one.
func (b *bench) measureTenant(ctx context.Context) error {
	s, err := b.all(ctx, laneAlone)
	if err != nil {
		return err
	}
	if err := b.contest(ctx, []row{{workVerdicts, 1}}, s.lane()); err != nil {
		return err
	}
	s.name = laneBusy
	return b.contest(ctx, []row{{workQuiet, someClients}}, s.lane())
}

// measureRiver compares starts that nothing executes, and verdicts, with those of a service on River.
func (b *bench) measureRiver(ctx context.Context) error {
	for _, what := range []work{workMany, workVerdicts} {
		river, err := b.startRiver(ctx, what == workVerdicts)
		if err != nil {
			return err
		}
		rival := b.starts
		if what == workVerdicts {
			if rival, err = b.all(ctx, laneEmbedded); err != nil {
				return err
			}
		}
		err = b.contest(ctx, []row{{what, someClients}}, river.lane(), rival.lane())
		if err := errors.Join(err, river.check(ctx)); err != nil {
			return err
		}
	}
	return nil
}
