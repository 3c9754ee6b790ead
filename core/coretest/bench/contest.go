package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/jackc/pgx/v5"
)

// course is what the parts have in common.
type course struct {
	options options
	world   *world
	meter   meter
	pgbench pgbench
	cells   cells
	out     io.Writer
}

// part measures some of the targets. Each begins with the same small tables.
type part struct {
	name, title string
	run         func(*course, context.Context) error
}

func parts() []part {
	return []part{
		{"verdicts", "runs from their start to their verdict", (*course).measureVerdicts},
		{"young", "a young database and a settled one", (*course).measureYoung},
		{"backlog", "starts beside a backlog", (*course).measureBacklog},
		{"rates", "starts and replays beside pgbench", (*course).measureRates},
		{"replays", "replays beside a bare handler", (*course).measureReplays},
		{"quota", "organizations over their quota beside others", (*course).measureQuota},
		{"wait", "runs that are waited for", (*course).measureWait},
		{"queue", "runs through the queue", (*course).measureQueue},
		{"tenant", "an organization beside a busy one", (*course).measureTenant},
		{"river", "the same service on River", (*course).measureRiver},
	}
}

func partNames() []string {
	var names []string
	for _, p := range parts() {
		names = append(names, p.name)
	}
	return names
}

// measureAll runs the chosen parts, and checks all rows after each. An error ends it, with the cells measured before.
func measureAll(ctx context.Context, opts options, w *world, out io.Writer) (cells, error) {
	m, err := newMeter(w.service.pid(), w.postgres.Dir())
	if err != nil {
		return nil, err
	}
	c := &course{options: opts, world: w, meter: m, out: out}
	if c.pgbench, err = newPgbench(ctx, w, m); err != nil {
		return nil, err
	}
	for _, p := range parts() {
		if len(opts.only) > 0 && !slices.Contains(opts.only, p.name) {
			continue
		}
		fmt.Fprintln(out, "next:", p.title)
		err := w.reset(ctx)
		if err == nil {
			err = p.run(c, ctx)
		}
		if err == nil {
			err = check(ctx, w.db, w.tenants)
		}
		if err != nil {
			return c.cells, fmt.Errorf("%s: %w", p.title, err)
		}
	}
	return c.cells, nil
}

// row is a load, and lane is who bears it.
type row struct {
	what    work
	clients int
}

type lane struct {
	name    string
	measure func(context.Context, row) (sample, error)
}

// contest measures each load in each lane, in turn, so that the ratios are of the same minute. Who goes first changes
// from round to round, so that no lane always meets the larger tables or the other's checkpoints. Between two
// measurements settle removes what the first has left.
func (c *course) contest(ctx context.Context, rows []row, lanes []lane, settle func(context.Context) error) error {
	for range c.options.rounds {
		for _, r := range rows {
			for _, l := range lanes {
				if err := settle(ctx); err != nil {
					return err
				}
				got, err := l.measure(ctx, r)
				if err != nil {
					return fmt.Errorf("%s, clients: %d, %s: %w", r.what, r.clients, l.name, err)
				}
				c.add(key{r.what, r.clients, l.name}, got)
			}
		}
		slices.Reverse(lanes)
	}
	return nil
}

func (c *course) add(k key, got sample) {
	c.cells = c.cells.with(k, got)
	fmt.Fprintf(c.out, "%s, clients: %d, %s: %.0f/s\n", k.what, k.clients, k.lane, rate(got))
}

// rows are the loads by each number of clients. A lone client shows the latency of one that meets nobody.
func (c *course) rows(works ...work) []row {
	var rows []row
	for _, n := range slices.Compact(append([]int{1}, c.options.clients...)) {
		for _, what := range works {
			rows = append(rows, row{what, n})
		}
	}
	return rows
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

// clear ends the runs that nothing has executed, while the systems that might are frozen.
func (c *course) clear(ctx context.Context) error {
	if _, err := c.world.db.Exec(ctx, `
		UPDATE validation_runs SET state = 'COMPLETED', result = 'CANCELED', ended_at = now(), epoch = epoch + 1,
			lease_until = NULL, sweep_after = NULL
		WHERE sweep_after IS NOT NULL`); err != nil {
		return fmt.Errorf("cancel runs: %w", err)
	}
	return c.world.settle(ctx)
}

// system is a service in processes of its own, which are frozen while another system is measured.
type system struct {
	name      string
	processes []*process
	load      loader
}

// lane is that of a frozen system.
func (c *course) lane(s system) lane {
	return lane{s.name, func(ctx context.Context, r row) (sample, error) {
		if err := s.each((*process).thaw); err != nil {
			return sample{}, err
		}
		got, err := s.load.measure(ctx, r, c.options.duration)
		return got, errors.Join(err, s.each((*process).freeze))
	}}
}

func (s system) stop() error { return errors.Join(s.each((*process).thaw), s.each((*process).stop)) }

func (s system) each(do func(*process) error) error {
	var failures []error
	for _, p := range s.processes {
		failures = append(failures, do(p))
	}
	return errors.Join(failures...)
}

// starts is the web server that is always there, and executes nothing.
func (c *course) starts() system {
	return system{name: laneStarts, processes: []*process{c.world.service}, load: c.service()}
}

// service is the load on that server.
func (c *course) service() loader {
	return loader{address: c.world.address, tenants: c.world.tenants, meter: c.meter}
}

// startSystem starts the roles of the service, with "" all of them in one process, as a frozen system that executes its
// runs. The caller has frozen all others.
func (c *course) startSystem(ctx context.Context, name string, roles, variables []string) (system, error) {
	s := system{name: name, load: c.service()}
	s.load.meter.services = nil
	for _, role := range roles {
		p, address, err := c.world.serve(ctx, role, variables...)
		if err != nil {
			return system{}, errors.Join(err, s.stop())
		}
		s.processes = append(s.processes, p)
		s.load.meter.services = append(s.load.meter.services, p.pid())
		if role != "worker" {
			s.load.address = address
		}
	}
	// What a service keeps in memory is there when it has run for a while.
	if _, err := s.load.measure(ctx, row{workReplay, warmClients}, warmDuration); err != nil {
		return system{}, errors.Join(err, s.stop())
	}
	s.load.verdicts = &verdicts{db: c.world.db, pending: pendingRuns}
	return s, s.each((*process).freeze)
}

// withEmbedded does something with the service in one process with its own Redis, while nothing else runs.
func (c *course) withEmbedded(ctx context.Context, do func(system) error) error {
	return c.alone(ctx, func() error {
		s, err := c.startSystem(ctx, laneEmbedded, []string{""}, c.world.embedded())
		if err != nil {
			return err
		}
		return errors.Join(do(s), s.stop())
	})
}

// reset empties the tables that starts write and makes the first runs anew. The statistics are those of the few rows,
// as plans that were made for a table without rows stay until the next ones.
func (w *world) reset(ctx context.Context) error {
	if err := w.settle(ctx); err != nil {
		return err
	}
	if _, err := w.db.Exec(ctx, `TRUNCATE idempotency_keys, validation_runs, submissions, staged_jobs, audit_records,
		usage_counters, key_activity, request_log CASCADE`); err != nil {
		return fmt.Errorf("empty tables: %w", err)
	}
	for _, t := range w.tenants {
		t.acknowledged.Store(0)
	}
	if err := prime(ctx, w.address, w.tenants); err != nil {
		return err
	}
	return analyze(ctx, w.db)
}

// analyze does what the server would do by itself within minutes.
func analyze(ctx context.Context, db *pgx.Conn) error {
	for _, statement := range []string{"VACUUM ANALYZE", "CHECKPOINT"} {
		if _, err := db.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}
