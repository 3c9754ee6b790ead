package main

import (
	"context"
	"errors"
	"fmt"
)

// river is the service that a Go user would build on River.
func river() peer {
	return peer{
		name: "River", folder: "river", build: []string{"go", "build"}, command: []string{"./river"},
		probe: []string{"go", "mod", "download"}, remedy: "needs the modules of " + peerFolder + "/river",
	}
}

// measureRiver compares starts that nothing executes, and verdicts, with those of a service on River.
func (c *course) measureRiver(ctx context.Context) ([]goal, error) {
	o := river()
	verdict := goal{
		what:  fmt.Sprintf("%s, %d clients, %s, to River's", workVerdicts, peerClients, systemEmbedded),
		bound: atLeast(1.5, unitTimes),
	}
	missing, err := o.missing(ctx)
	if err != nil {
		return nil, err
	}
	if missing != "" {
		verdict.note = missing
		return []goal{verdict}, nil
	}
	starts, err := c.measurePeer(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("starts: %w", err)
	}
	verdicts, err := c.verdictsBeside(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("verdicts: %w", err)
	}
	verdict.values = valuesOf(verdicts, pair.ratio)
	verdict.note = "verdicts: " + o.note(verdicts) + "; starts alone: " + o.note(starts)
	return []goal{verdict}, nil
}

// verdictsBeside lets the program and the service on its embedded Redis execute their runs, in turn.
func (c *course) verdictsBeside(ctx context.Context, o peer) ([]pair, error) {
	o.variables = []string{"WORKERS=1"}
	p, err := startProgram(ctx, o, c.world.postgres.URL(), c.world.dir)
	if err != nil {
		return nil, err
	}
	peer := p.system(o.name, c.meter, &verdicts{
		db: p.db, pending: "SELECT EXISTS (SELECT FROM validation_runs WHERE state <> 'COMPLETED')",
	})
	var pairs []pair
	var service system
	err = c.alone(ctx, func() error {
		service, err = c.startSystem(ctx, systemEmbedded, []string{""}, c.world.embedded())
		return err
	})
	if err == nil {
		pairs, err = c.compete(ctx, peer, service, workVerdicts)
		err = errors.Join(err, service.stop())
	}
	if err == nil {
		err = check(ctx, p.db, p.tenants)
	}
	return pairs, errors.Join(err, p.stop(ctx))
}
