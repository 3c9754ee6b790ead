package main

import (
	"context"
	"errors"
	"fmt"
)

const (
	systemLogged   = "with the request log"
	systemUnlogged = "without the request log"
	logClients     = 32
	// logRounds is the least number of rounds: a few percent are less than what single rounds differ by.
	logRounds = 5
)

// measureRequestLog compares a web server that logs requests, as it does by default, with one that logs none, in turns.
func (c *course) measureRequestLog(ctx context.Context) ([]goal, error) {
	var goals []goal
	err := c.alone(ctx, func() error {
		return c.withAndWithoutLog(ctx, func(logged, unlogged system) error {
			contest := contest{
				duration: c.options.duration, name: unlogged.name, yardstick: unlogged, service: logged,
				settle: c.clear, show: c.show,
			}
			works := []struct {
				what work
				most float64
			}{{workMany, 0.03}, {workReplay, 0.05}}
			rounds := max(c.options.rounds, logRounds)
			c.show.plan(len(works) * rounds * len(contest.sides(0, &pair{})))
			for _, w := range works {
				pairs := make([]pair, rounds)
				for round := range pairs {
					var err error
					pairs[round], err = contest.measure(ctx, round, row{what: w.what, clients: logClients})
					if err != nil {
						return err
					}
				}
				goals = append(goals, logGoal(w.what, w.most, pairs))
			}
			return nil
		})
	})
	return goals, err
}

// withAndWithoutLog starts both web servers, frozen, and ends them.
func (c *course) withAndWithoutLog(ctx context.Context, do func(logged, unlogged system) error) error {
	logged, err := c.startSystem(ctx, systemLogged, []string{"web"}, nil)
	if err != nil {
		return err
	}
	unlogged, err := c.startSystem(ctx, systemUnlogged, []string{"web"}, []string{"SV_REQUEST_LOG_RATE=0"})
	if err != nil {
		return errors.Join(err, logged.stop())
	}
	// A web server executes nothing, so there is no verdict to wait for.
	logged.load.verdicts, unlogged.load.verdicts = nil, nil
	return errors.Join(do(logged, unlogged), logged.stop(), unlogged.stop())
}

// logGoal judges which share of the requests a second the log takes.
func logGoal(what work, most float64, pairs []pair) goal {
	median := func(value func(pair) float64) float64 { return spreadOfPairs(pairs, value).median }
	cost := func(p pair) float64 { return 1 - p.ratio() }
	return goal{
		what:  fmt.Sprintf("%s, %d clients, what the request log takes", what, logClients),
		bound: atMost(most, unitShare), values: valuesOf(pairs, cost),
		note: fmt.Sprintf("%s a second with the log and %s without; µs of the service each: %.0f and %.0f, "+
			"of PostgreSQL: %.0f and %.0f",
			thousands(median(serviceRate)), thousands(median(yardstickRate)),
			median(func(p pair) float64 { return each(p.service, p.service.cpu.service) }),
			median(func(p pair) float64 { return each(p.yardstick, p.yardstick.cpu.service) }),
			median(func(p pair) float64 { return each(p.service, p.service.cpu.postgres) }),
			median(func(p pair) float64 { return each(p.yardstick, p.yardstick.cpu.postgres) })),
	}
}
