package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// pair is the yardstick and the service, measured right after each other.
type pair struct {
	yardstick, service sample
}

func (p pair) ratio() float64 { return p.service.perSecond() / p.yardstick.perSecond() }

// row is one line of the results.
type row struct {
	what    work
	clients int
	pairs   []pair
}

// measurer is the yardstick or the service.
type measurer interface {
	measure(ctx context.Context, what work, clients int, duration time.Duration) (sample, error)
}

// planned lists what is measured in each round. A lone client shows the latency of a start that meets nobody.
func planned(clients []int) []row {
	rows := []row{{what: workMany, clients: 1}}
	for _, n := range clients {
		for _, what := range []work{workMany, workHot, workReplay} {
			if n > 1 || what != workMany {
				rows = append(rows, row{what: what, clients: n})
			}
		}
	}
	return rows
}

// measureRates runs the rounds. In a round each row is measured once, and who goes first changes from round to round,
// so that neither side always meets the larger tables or the other's checkpoints.
func (c *course) measureRates(ctx context.Context) ([]goal, error) {
	c.show.say("filling the tables")
	if err := c.yardstick.fill(ctx); err != nil {
		return nil, err
	}
	rows := planned(c.options.clients)
	contest := contest{
		duration: c.options.duration, name: "pgbench", yardstick: c.yardstick, service: c.service(),
		settle: c.world.settle, show: c.show,
	}
	c.show.plan(c.options.rounds * len(rows) * len(contest.sides(0, &pair{})))
	for round := range c.options.rounds {
		for i := range rows {
			p, err := contest.measure(ctx, round, rows[i])
			if err != nil {
				return nil, err
			}
			rows[i].pairs = append(rows[i].pairs, p)
		}
	}
	c.rows = rows
	return rateGoals(rows), nil
}

// contest measures both sides in turn.
type contest struct {
	duration time.Duration
	// name is the yardstick's.
	name      string
	yardstick measurer
	service   measurer
	// settle waits until nothing is left of what was measured before.
	settle func(context.Context) error
	show   *progress
}

type side struct {
	name string
	by   measurer
	into *sample
}

// sides says who is measured in which order.
func (c contest) sides(round int, p *pair) []side {
	sides := []side{{c.name, c.yardstick, &p.yardstick}, {"service", c.service, &p.service}}
	if round%len(sides) == 1 {
		slices.Reverse(sides)
	}
	return sides
}

func (c contest) measure(ctx context.Context, round int, r row) (pair, error) {
	var p pair
	for _, side := range c.sides(round, &p) {
		name := fmt.Sprintf("%s, clients: %d, %s", r.what, r.clients, side.name)
		c.show.begin(name)
		if err := c.settle(ctx); err != nil {
			return pair{}, err
		}
		got, err := side.by.measure(ctx, r.what, r.clients, c.duration)
		if err != nil {
			return pair{}, err
		}
		*side.into = got
		c.show.end(fmt.Sprintf("%s: %.0f/s", name, got.perSecond()))
	}
	return p, nil
}
