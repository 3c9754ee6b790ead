package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"

	"github.com/simplevalidations/simplevalidations/core/coretest"
)

const peerClients = 32

// peer is a program that starts runs as it is customary with its library.
type peer struct {
	name string
	// folder, in peerFolder, has the program.
	folder string
	// build, if any, makes the program with -o and a folder.
	build     []string
	command   []string
	variables []string
	// probe fails, in the program's folder, where something is missing. The remedy says what to do.
	probe  []string
	remedy string
}

// missing says what to do before the program can run; it is empty where nothing is missing.
func (o peer) missing(ctx context.Context) (string, error) {
	source, err := o.source()
	if err != nil {
		return "", err
	}
	probe := exec.CommandContext(ctx, o.probe[0], o.probe[1:]...)
	probe.Dir = source
	if probe.Run() == nil {
		return "", nil
	}
	return o.remedy, nil
}

// source is the folder of the program in the checkout.
func (o peer) source() (string, error) {
	root, err := coretest.Root()
	return filepath.Join(root, peerFolder, o.folder), err
}

// note tells the rates, and the processor time that a start takes.
func (o peer) note(pairs []pair) string {
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

func (c *course) measurePeer(ctx context.Context, o peer) ([]pair, error) {
	c.show.say("starting the program in " + o.name)
	p, err := startProgram(ctx, o, c.world.postgres.URL(), c.world.dir)
	if err != nil {
		return nil, err
	}
	pairs, err := c.compete(ctx, p.system(o.name, c.meter, nil), c.starts(), workMany)
	if err == nil {
		err = check(ctx, p.db, p.tenants)
	}
	return pairs, errors.Join(err, p.stop(ctx))
}

// system is the program, which executes its runs if verdicts are given.
func (p *program) system(name string, m meter, v *verdicts) system {
	m.services = []int{p.server.pid()}
	return system{
		name: name, processes: []*process{p.server},
		load: loader{address: p.address, tenants: p.tenants, meter: m, verdicts: v},
	}
}

// compete lets the program and the service take turns.
func (c *course) compete(ctx context.Context, peer, service system, what work) ([]pair, error) {
	if _, err := prime(ctx, peer.load.address, peer.load.tenants); err != nil {
		return nil, err
	}
	contest := contest{
		duration: c.options.duration, name: peer.name, yardstick: peer, service: service, settle: c.clear, show: c.show,
	}
	pairs := make([]pair, c.options.scale.rounds)
	err := c.alone(ctx, func() error {
		if err := errors.Join(peer.freeze(), analyze(ctx, c.world.db)); err != nil {
			return err
		}
		c.show.plan(len(pairs) * len(contest.sides(0, &pair{})))
		for round := range pairs {
			var err error
			if pairs[round], err = contest.measure(ctx, round, row{what: what, clients: peerClients}); err != nil {
				return err
			}
		}
		return nil
	})
	return pairs, errors.Join(err, peer.thaw())
}
