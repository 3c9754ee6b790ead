package main

import (
	"context"
	"fmt"
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

// measureAll runs the rounds. In a round each row is measured once, and who goes first changes from round to round, so
// that neither side always meets the larger tables or the other's checkpoints.
func measureAll(ctx context.Context, opts options, w *world, show *progress) ([]row, error) {
	m, err := newMeter(w.service.pid(), w.postgres.Dir())
	if err != nil {
		return nil, err
	}
	bench, err := newYardstick(w, m)
	if err != nil {
		return nil, err
	}
	service := loader{address: w.address, tenants: w.tenants, meter: m}
	rows := planned(opts.clients)
	const sides = 2
	show.plan(opts.rounds * len(rows) * sides)
	for round := range opts.rounds {
		for i := range rows {
			p, err := measurePair(ctx, opts.duration, rows[i], bench, service, round%sides == 1, show)
			if err != nil {
				return nil, err
			}
			rows[i].pairs = append(rows[i].pairs, p)
		}
	}
	return rows, nil
}

func measurePair(
	ctx context.Context, duration time.Duration, r row, bench, service measurer, serviceFirst bool, show *progress,
) (pair, error) {
	var p pair
	sides := []struct {
		name string
		by   measurer
		into *sample
	}{{"pgbench", bench, &p.yardstick}, {"service", service, &p.service}}
	if serviceFirst {
		sides[0], sides[1] = sides[1], sides[0]
	}
	for _, side := range sides {
		name := fmt.Sprintf("%s, clients: %d, %s", r.what, r.clients, side.name)
		show.begin(name)
		got, err := side.by.measure(ctx, r.what, r.clients, duration)
		if err != nil {
			return pair{}, err
		}
		*side.into = got
		show.end(fmt.Sprintf("%s: %.0f/s", name, got.perSecond()))
	}
	return p, nil
}
