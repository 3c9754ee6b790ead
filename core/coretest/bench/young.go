package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

const (
	youngName    = "young"
	youngClients = 32
)

// measureYoung compares the first starts and verdicts of a new database, which has no statistics, with those after it
// was analyzed.
func (c *course) measureYoung(ctx context.Context) ([]goal, error) {
	starts := goal{
		what: "starts alone, 32 clients, in a young database, to a settled one", bound: atLeast(0.9, unitTimes),
	}
	verdicts := goal{
		what:  fmt.Sprintf("verdicts, 32 clients, %s, in a young database, to a settled one", systemEmbedded),
		bound: atLeast(0.9, unitTimes),
	}
	for range c.options.scale.rounds {
		for _, kind := range []struct {
			goal      *goal
			part      string
			variables []string
			what      work
		}{{&starts, "web", nil, workMany}, {&verdicts, "", c.world.embedded(), workVerdicts}} {
			var p pair
			err := c.alone(ctx, func() error {
				var err error
				p, err = c.growUp(ctx, kind.part, kind.variables, kind.what)
				return err
			})
			if err != nil {
				return nil, err
			}
			kind.goal.values = append(kind.goal.values, p.ratio())
			kind.goal.note = fmt.Sprintf("%s a second and p99 %.0f ms in the first %s, then %s and %.0f ms",
				thousands(serviceRate(p)), millis(p.service, 99), c.options.scale.youth, thousands(yardstickRate(p)),
				millis(p.yardstick, 99))
		}
	}
	return []goal{starts, verdicts}, nil
}

// growUp measures a new database, and as the yardstick the same one after it was analyzed.
func (c *course) growUp(ctx context.Context, part string, variables []string, what work) (pair, error) {
	tenants, err := newTenants()
	if err != nil {
		return pair{}, err
	}
	db, url, err := newDatabase(ctx, c.world, youngName)
	if err != nil {
		return pair{}, err
	}
	server, address, err := c.world.serve(ctx, part, append(variables, "DATABASE_URL="+url)...)
	if err != nil {
		return pair{}, errors.Join(err, db.Close(ctx))
	}
	load := loader{address: address, tenants: tenants, meter: c.meter}
	load.meter.services = []int{server.pid()}
	if what == workVerdicts {
		load.verdicts = c.verdicts()
		load.verdicts.db = db
	}
	p, err := c.measureTwice(ctx, load, db, what)
	if err == nil {
		err = check(ctx, db, tenants)
	}
	if err := errors.Join(err, server.stop(), db.Close(ctx)); err != nil {
		return pair{}, err
	}
	if _, err := c.world.db.Exec(ctx, "DROP DATABASE "+youngName); err != nil {
		return pair{}, fmt.Errorf("drop the young database: %w", err)
	}
	return p, nil
}

func (c *course) measureTwice(ctx context.Context, load loader, db *pgx.Conn, what work) (pair, error) {
	var p pair
	var err error
	if p.service, err = load.measure(ctx, what, youngClients, c.options.scale.youth); err != nil {
		return pair{}, err
	}
	c.show.say(fmt.Sprintf("%s, young: %.0f/s", what, serviceRate(p)))
	if err := analyze(ctx, db); err != nil {
		return pair{}, err
	}
	if p.yardstick, err = load.measure(ctx, what, youngClients, c.options.scale.youth); err != nil {
		return pair{}, err
	}
	c.show.say(fmt.Sprintf("%s, settled: %.0f/s", what, yardstickRate(p)))
	return p, nil
}
