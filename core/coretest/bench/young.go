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
	starts := goal{what: "starts alone, 32 clients, in a young database, to a settled one", bound: atLeast(0.9, unitTimes)}
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
			var young, settled sample
			err := c.alone(ctx, func() error {
				var err error
				young, settled, err = c.growUp(ctx, kind.part, kind.variables, kind.what)
				return err
			})
			if err != nil {
				return nil, err
			}
			kind.goal.values = append(kind.goal.values, young.perSecond()/settled.perSecond())
			kind.goal.note = fmt.Sprintf("%s a second and p99 %.0f ms in the first %s, then %s and %.0f ms",
				thousands(young.perSecond()), millis(young, 99), c.options.scale.youth, thousands(settled.perSecond()),
				millis(settled, 99))
		}
	}
	return []goal{starts, verdicts}, nil
}

// growUp measures a new database before and after it was analyzed.
func (c *course) growUp(ctx context.Context, part string, variables []string, what work) (sample, sample, error) {
	db, address, err := newDatabase(ctx, c.world, youngName)
	if err != nil {
		return sample{}, sample{}, err
	}
	young, settled, err := c.measureTwice(ctx, db, append(variables, "DATABASE_URL="+address), part, what)
	err = errors.Join(err, db.Close(ctx))
	if _, dropErr := c.world.db.Exec(ctx, "DROP DATABASE "+youngName+" WITH (FORCE)"); dropErr != nil {
		err = errors.Join(err, fmt.Errorf("drop the young database: %w", dropErr))
	}
	return young, settled, err
}

func (c *course) measureTwice(
	ctx context.Context, db *pgx.Conn, variables []string, part string, what work,
) (young, settled sample, err error) {
	tenants, err := newTenants()
	if err != nil {
		return sample{}, sample{}, err
	}
	server, address, err := c.world.serve(ctx, part, variables...)
	if err != nil {
		return sample{}, sample{}, err
	}
	defer func() { err = errors.Join(err, server.stop()) }()
	load := loader{address: address, tenants: tenants, meter: c.meter}
	load.meter.services = []int{server.pid()}
	if what == workVerdicts {
		load.verdicts = c.verdicts()
		load.verdicts.db = db
	}
	if young, err = load.measure(ctx, what, youngClients, c.options.scale.youth); err != nil {
		return sample{}, sample{}, err
	}
	c.show.say(fmt.Sprintf("%s, young: %.0f/s", what, young.perSecond()))
	if err := analyze(ctx, db); err != nil {
		return sample{}, sample{}, err
	}
	if settled, err = load.measure(ctx, what, youngClients, c.options.scale.youth); err != nil {
		return sample{}, sample{}, err
	}
	c.show.say(fmt.Sprintf("%s, settled: %.0f/s", what, settled.perSecond()))
	return young, settled, check(ctx, db, tenants)
}
