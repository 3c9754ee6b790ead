package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/simplevalidations/simplevalidations/core/coretest"
)

const replayClients = 32

// measureReplays compares replays with a bare handler that writes the same bytes, which is the limit of the HTTP stack.
func (c *course) measureReplays(ctx context.Context) ([]goal, error) {
	bare, err := c.startEcho(ctx)
	if err != nil {
		return nil, err
	}
	service := c.starts()
	service.name = "service"
	contest := contest{
		duration: c.options.duration, name: bare.name, yardstick: bare, service: service, settle: c.clear, show: c.show,
	}
	pairs := make([]pair, c.options.rounds)
	err = c.alone(ctx, func() error {
		c.show.plan(len(pairs) * len(contest.sides(0, &pair{})))
		for round := range pairs {
			var err error
			pairs[round], err = contest.measure(ctx, round, row{what: workReplay, clients: replayClients})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err := errors.Join(err, bare.stop()); err != nil {
		return nil, err
	}
	median := func(value func(pair) float64) float64 { return spreadOfPairs(pairs, value).median }
	return []goal{{
		what:  fmt.Sprintf("%s, %d clients, to a bare handler that writes the same bytes", workReplay, replayClients),
		bound: atLeast(0.6, unitTimes), values: valuesOf(pairs, pair.ratio),
		note: fmt.Sprintf("%s a second with %.0f µs of PostgreSQL and %.0f µs of the service each, "+
			"bare %s with %.0f µs",
			thousands(median(serviceRate)),
			median(func(p pair) float64 { return each(p.service, p.service.cpu.postgres) }),
			median(func(p pair) float64 { return each(p.service, p.service.cpu.service) }),
			thousands(median(yardstickRate)),
			median(func(p pair) float64 { return each(p.yardstick, p.yardstick.cpu.service) })),
	}}, nil
}

// startEcho starts the bare handler, frozen, with one answer of the service for all organizations.
func (c *course) startEcho(ctx context.Context) (system, error) {
	root, err := coretest.Root()
	if err != nil {
		return system{}, err
	}
	binary, file := filepath.Join(c.world.dir, "echo"), filepath.Join(c.world.dir, "answer.json")
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, "./"+peerFolder+"/echo")
	build.Dir = root
	if output, err := build.CombinedOutput(); err != nil {
		return system{}, fmt.Errorf("build the bare handler: %w: %s", err, output)
	}
	if err := c.saveReplay(ctx, file); err != nil {
		return system{}, err
	}
	address, err := freeAddress(ctx)
	if err != nil {
		return system{}, err
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), binary, "-address", address, "-answer", file)
	server, err := startProcess(cmd, filepath.Join(c.world.dir, "echo.log"))
	if err != nil {
		return system{}, err
	}
	s := system{name: "bare handler", processes: []*process{server}, load: c.service()}
	s.load.address, s.load.meter.services = address, []int{server.pid()}
	s.load.tenants = slices.Clone(c.world.tenants)
	for i := range s.load.tenants {
		s.load.tenants[i].first = c.world.tenants[0].first
	}
	err = server.await(ctx, func(ctx context.Context) bool {
		return coretest.Answers(ctx, "http://"+address+"/livez/")
	})
	if err != nil {
		return system{}, errors.Join(err, s.stop())
	}
	return s, s.freeze()
}

// saveReplay writes an answer of the service to the file, with all its headers.
func (c *course) saveReplay(ctx context.Context, file string) error {
	first := c.world.tenants[0]
	_, content, _ := strings.Cut(first.tail, "\r\n\r\n")
	request, err := http.NewRequestWithContext(ctx, http.MethodPost,
		"http://"+c.world.address+startPath(first.number), strings.NewReader(content))
	if err != nil {
		return fmt.Errorf("make the request: %w", err)
	}
	for name, value := range map[string]string{
		"Authorization": "Bearer " + secretPrefix + numbered(first.number), "Content-Type": "text/csv",
		"Idempotency-Key": keyPrefix + numbered(first.number), "X-Filename": "meter-readings.csv",
	} {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	if !bytes.Equal(body, first.first.body) {
		return fmt.Errorf("a replay was answered with %d: %s", response.StatusCode, body)
	}
	text, err := json.Marshal(map[string]any{"status": response.StatusCode, "header": response.Header, "body": body})
	if err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return fmt.Errorf("save the answer: %w", err)
	}
	return nil
}
