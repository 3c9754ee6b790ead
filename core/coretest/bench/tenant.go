package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/simplevalidations/simplevalidations/docs"
)

const (
	keyPrefix    = "replay-"
	primeClients = 8
)

// tenant is an organization as a client of the service.
type tenant struct {
	number int
	// head and tail stand around the key in a request.
	head string
	tail string
	// first is the answer that the replays of the tenant's key have to repeat.
	first answer
	// acknowledged counts the runs that the service said it has started.
	acknowledged *atomic.Int64
}

func newTenants() ([]tenant, error) {
	content, err := docs.Sample(document)
	if err != nil {
		return nil, err
	}
	tenants := make([]tenant, allTenants)
	for i := range tenants {
		number := i + 1
		tenants[i] = tenant{
			number: number, tail: tail(string(content)), acknowledged: new(atomic.Int64),
			head: "POST " + startPath(number) + " HTTP/1.1\r\nHost: bench\r\nUser-Agent: bench\r\n" +
				"Authorization: Bearer " + secretPrefix + numbered(number) + "\r\nIdempotency-Key: ",
		}
	}
	return tenants, nil
}

// tail is what follows the key.
func tail(content string) string {
	return "\r\nContent-Type: text/csv\r\nX-Filename: meter-readings.csv\r\nContent-Length: " +
		strconv.Itoa(len(content)) + "\r\n\r\n" + content
}

// refusal is an answer to a new key that started nothing.
type refusal struct {
	status int
	body   string
}

func (r *refusal) Error() string {
	return fmt.Sprintf("a new key was answered with %d: %s", r.status, r.body)
}

// start starts a run with a new key and checks that it is one.
func (t *tenant) start(c *client, key string) (answer, error) {
	return t.started(c.send(t.head, key, t.tail))
}

// startAndWait starts a run and checks that the answer has its verdict.
func (t *tenant) startAndWait(c *client, key string) error {
	got, err := t.started(c.send(t.head, key, "\r\nPrefer: wait=10", t.tail))
	if err == nil && !bytes.Contains(got.body, []byte(`"state":"COMPLETED"`)) {
		err = fmt.Errorf("the run was not waited for: %s", got.body)
	}
	return err
}

func (t *tenant) started(got answer, err error) (answer, error) {
	if err != nil {
		return answer{}, err
	}
	id, ok := strings.CutPrefix(got.location, "/api/runs/")
	id = strings.TrimSuffix(id, "/")
	switch {
	case got.status != statusCreated:
		return answer{}, &refusal{status: got.status, body: string(got.body)}
	case got.replayed != "":
		return answer{}, fmt.Errorf("a new key was replayed: %s", got.body)
	case !ok || id == "" || !bytes.Contains(got.body, []byte(`"id":"`+id+`"`)):
		return answer{}, fmt.Errorf("location %q is not that of the run: %s", got.location, got.body)
	}
	t.acknowledged.Add(1)
	return got, nil
}

// replay repeats the request of the tenant's first run and checks that the answer is the first one.
func (t *tenant) replay(c *client) error {
	got, err := c.send(t.head, keyPrefix, numbered(t.number), t.tail)
	if err != nil {
		return err
	}
	switch {
	case got.status != t.first.status || got.location != t.first.location || !bytes.Equal(got.body, t.first.body):
		return fmt.Errorf("a replay was answered with %d %s %s, the first request with %d %s %s",
			got.status, got.location, got.body, t.first.status, t.first.location, t.first.body)
	case got.replayed != "true":
		return fmt.Errorf("a replay does not say so: %s", got.body)
	}
	return nil
}

// prime starts the first run of each tenant, whose answers the replays are compared with. It also opens the usage
// counters and fills what the service keeps in memory. It returns one of the answers.
func prime(ctx context.Context, address string, tenants []tenant) ([]byte, error) {
	group, ctx := errgroup.WithContext(ctx)
	for part := range slices.Chunk(tenants, len(tenants)/primeClients+1) {
		group.Go(func() error {
			c, err := dial(ctx, address)
			if err != nil {
				return err
			}
			defer c.close()
			for i := range part {
				first, err := part[i].start(c, keyPrefix+numbered(part[i].number))
				if err != nil {
					return err
				}
				first.body = bytes.Clone(first.body)
				part[i].first = first
				if err := part[i].replay(c); err != nil {
					return err
				}
				if ctx.Err() != nil {
					return ctx.Err()
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return tenants[0].first.body, nil
}
