package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

const otherClients = 32

// other is a program in another language that starts runs as it is customary there: statement by statement.
type other struct {
	name string
	// folder, in peerFolder, has the program.
	folder  string
	command []string
	// probe fails where something is missing that packages, those of Debian, would bring.
	probe    []string
	packages []string
}

// others run by the interpreters of Debian, which find its packages also where others are installed beside them.
func others() []other {
	const python, ruby = "/usr/bin/python3", "/usr/bin/ruby"
	return []other{
		{
			name: "Ruby", folder: "ruby",
			command:  []string{ruby, "--yjit", "/usr/bin/puma", "--config", "puma.rb"},
			probe:    []string{ruby, "--yjit", "-e", "%w[pg puma sequel sequel_pg sinatra].each { |name| gem name }"},
			packages: []string{"puma", "ruby-sinatra", "ruby-sequel", "ruby-sequel-pg"},
		},
		{
			name: "Django", folder: "django",
			command:  []string{python, "-m", "gunicorn", "app:application"},
			probe:    []string{python, "-c", "import django, gunicorn, psycopg2, rest_framework"},
			packages: []string{"gunicorn", "python3-django", "python3-djangorestframework", "python3-psycopg2"},
		},
	}
}

// missing says what to install before the program can run; it is empty where nothing is missing.
func (o other) missing(ctx context.Context) string {
	if exec.CommandContext(ctx, o.probe[0], o.probe[1:]...).Run() == nil {
		return ""
	}
	return "needs the Debian packages " + strings.Join(o.packages, ", ")
}

// measureOthers compares starts with those of programs in other languages, on the same server.
func (c *course) measureOthers(ctx context.Context) ([]goal, error) {
	var goals []goal
	for _, o := range others() {
		if missing := o.missing(ctx); missing != "" {
			goals = append(goals, o.goal(nil, missing))
			continue
		}
		pairs, err := c.measureOther(ctx, o)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", o.name, err)
		}
		goals = append(goals, o.goal(pairs, o.note(pairs)))
	}
	return goals, nil
}

func (o other) goal(pairs []pair, note string) goal {
	return goal{
		what:  fmt.Sprintf("%s, %d clients, to the same in %s", workMany, otherClients, o.name),
		bound: atLeast(15, unitTimes), values: valuesOf(pairs, pair.ratio), note: note,
	}
}

// note tells the rates, and the processor time that a start takes.
func (o other) note(pairs []pair) string {
	median := func(value func(pair) float64) float64 { return spreadOfPairs(pairs, value).median }
	return fmt.Sprintf("%s a second with %.0f µs of PostgreSQL and %.0f µs of the service each, "+
		"%s %s with %.0f µs and %.0f µs",
		thousands(median(serviceRate)),
		median(func(p pair) float64 { return each(p.service, p.service.cpu.postgres) }),
		median(func(p pair) float64 { return each(p.service, p.service.cpu.service) }),
		o.name, thousands(median(yardstickRate)),
		median(func(p pair) float64 { return each(p.yardstick, p.yardstick.cpu.postgres) }),
		median(func(p pair) float64 { return each(p.yardstick, p.yardstick.cpu.service) }))
}

func (c *course) measureOther(ctx context.Context, o other) ([]pair, error) {
	c.show.say("starting the program in " + o.name)
	p, err := startProgram(ctx, o, c.world.postgres.URL(), c.world.dir)
	if err != nil {
		return nil, err
	}
	pairs, err := c.compete(ctx, o.name, p)
	if err == nil {
		err = check(ctx, p.db, p.tenants)
	}
	return pairs, errors.Join(err, p.stop(ctx))
}

// compete lets the program and the service take turns.
func (c *course) compete(ctx context.Context, name string, p *program) ([]pair, error) {
	if _, err := prime(ctx, p.address, p.tenants); err != nil {
		return nil, err
	}
	if err := analyze(ctx, p.db); err != nil {
		return nil, err
	}
	contest := contest{
		duration: c.options.duration, name: name, yardstick: otherLoad{p, c.world.service, c.meter},
		service: c.service(), settle: c.world.settle, show: c.show,
	}
	rounds := c.options.scale.rounds
	c.show.plan(rounds * len(contest.sides(0, &pair{})))
	pairs := make([]pair, rounds)
	for round := range pairs {
		var err error
		if pairs[round], err = contest.measure(ctx, round, row{what: workMany, clients: otherClients}); err != nil {
			return nil, err
		}
	}
	return pairs, nil
}

// otherLoad is the load on the other program, while the service is frozen.
type otherLoad struct {
	program *program
	service *process
	meter   meter
}

func (l otherLoad) measure(ctx context.Context, what work, clients int, duration time.Duration) (sample, error) {
	l.meter.services = []int{l.program.server.pid()}
	load := loader{address: l.program.address, tenants: l.program.tenants, meter: l.meter}
	var result sample
	err := l.service.frozen(func() error {
		var err error
		result, err = load.measure(ctx, what, clients, duration)
		return err
	})
	return result, err
}
