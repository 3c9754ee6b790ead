package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	randv2 "math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// work is what is measured.
type work string

const (
	workMany   work = "fresh starts, 1,000 organizations"
	workHot    work = "fresh starts, one organization"
	workReplay work = "replays of 1,000 keys"
	// The starts of nine in ten organizations count.
	workOthers work = "fresh starts of nine in ten organizations"
	workWait   work = "runs that are waited for"
	// Of these each run is waited for until it has its verdict, after the last was started.
	workVerdicts    work = "verdicts, 1,000 organizations"
	workHotVerdicts work = "verdicts, one organization"
	// One client starts runs of an organization that counts, and all others runs of another one.
	workQuiet work = "verdicts, one client beside those of a busy organization"
)

// row is a load.
type row struct {
	what    work
	clients int
}

// sample is one measurement.
type sample struct {
	begun     time.Time
	elapsed   time.Duration
	latencies []time.Duration
	// requests are counted where there are no latencies, too.
	requests int
	cpu      cpuTimes
	// written is there where it was counted.
	written written
}

// measure lets clients send requests for the given time, each the next one as soon as it has the answer. The first
// wrong answer ends the measurement with an error.
func (s service) measure(ctx context.Context, r row, duration time.Duration) (sample, error) {
	var got sample
	err := s.thawed(func() error {
		var err error
		got, err = s.load(ctx, r, duration)
		return err
	})
	return got, err
}

func (s service) load(ctx context.Context, r row, duration time.Duration) (sample, error) {
	var connections []*client
	defer func() {
		for _, c := range connections {
			c.close()
		}
	}()
	for i := range r.clients {
		c, err := dial(ctx, s.addresses[i%len(s.addresses)])
		if err != nil {
			return sample{}, err
		}
		connections = append(connections, c)
	}
	var all []time.Duration
	got, err := s.during(ctx, func() error {
		var err error
		all, err = s.drive(ctx, r.what, connections, time.Now().Add(duration))
		return err
	})
	if err == nil && s.pending != "" {
		all, err = s.verdicts(ctx, r.what, got.begun, len(all))
	}
	slices.Sort(all)
	got.latencies, got.requests = all, len(all)
	return got, err
}

func (s service) drive(ctx context.Context, what work, connections []*client, end time.Time) ([]time.Duration, error) {
	group, ctx := errgroup.WithContext(ctx)
	parts := make([][]time.Duration, len(connections))
	for i, c := range connections {
		group.Go(func() error {
			// A client that waits for an answer would not notice that the others have given up.
			defer context.AfterFunc(ctx, c.close)()
			// Nobody else has used these keys, and nobody will.
			prefix, key := rand.Text()+"-", 0
			for begun := time.Now(); begun.Before(end); {
				key++
				if s.pace != nil {
					if err := s.pace.Wait(ctx); err != nil {
						return err //nolint:wrapcheck // The context has ended.
					}
					begun = time.Now()
				}
				counted, err := s.request(what, i, c, prefix+strconv.Itoa(key))
				if err != nil {
					return errors.Join(ctx.Err(), err)
				}
				answered := time.Now()
				if counted {
					parts[i] = append(parts[i], answered.Sub(begun))
				}
				begun = answered
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return slices.Concat(parts...), nil
}

// request sends one request of the client with the number, and reports whether it counts.
func (s service) request(what work, number int, c *client, key string) (bool, error) {
	t := &s.tenants[randv2.IntN(manyTenants)]
	switch what {
	case workReplay:
		return true, t.replay(c)
	case workWait:
		got, err := t.start(c, key, "\r\nPrefer: wait=10")
		if err == nil && !bytes.Contains(got.body, []byte(`"state":"COMPLETED"`)) {
			err = fmt.Errorf("the run was not waited for: %s", got.body)
		}
		return true, err
	case workHot, workHotVerdicts:
		t = &s.tenants[manyTenants]
	case workQuiet:
		if t = &s.tenants[0]; number > 0 {
			t = &s.tenants[manyTenants]
		}
		_, err := t.start(c, key)
		return number == 0, err
	case workOthers:
		tenth := t.number%overQuotaEvery == 0
		got, err := t.start(c, key)
		if tenth && s.spent && got.status == http.StatusTooManyRequests {
			return false, nil
		}
		return !tenth, err
	case workMany, workVerdicts:
	}
	_, err := t.start(c, key)
	return true, err
}

const (
	keyPrefix = "replay-"
	// answerPatience is far above any answer that is still of use.
	answerPatience = 30 * time.Second
)

// client is one connection that is kept alive. It writes requests as bytes, as the standard library's client would take
// a good part of the processors that it is to measure.
type client struct {
	conn   net.Conn
	reader *bufio.Reader
	// Each request uses these again.
	out, body bytes.Buffer
}

// answer is what the service said. Its body is valid until the connection's next request.
type answer struct {
	status             int
	location, replayed string
	body               []byte
}

// dial connects and sends one request, so that the connection's costs are not part of what is measured.
func dial(ctx context.Context, address string) (*client, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	c := &client{conn: conn, reader: bufio.NewReader(conn)}
	got, err := c.send("GET /livez/ HTTP/1.1\r\nHost: bench\r\n\r\n")
	if err == nil && got.status != http.StatusOK {
		err = fmt.Errorf("the first request was answered with %d", got.status)
	}
	return c, err
}

func (c *client) close() { _ = c.conn.Close() } // All answers are there.

// send writes the parts of one request and reads its answer.
func (c *client) send(parts ...string) (answer, error) {
	c.out.Reset()
	for _, part := range parts {
		c.out.WriteString(part)
	}
	if err := c.conn.SetDeadline(time.Now().Add(answerPatience)); err != nil {
		return answer{}, fmt.Errorf("set deadline: %w", err)
	}
	if _, err := c.conn.Write(c.out.Bytes()); err != nil {
		return answer{}, fmt.Errorf("send: %w", err)
	}
	response, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		return answer{}, fmt.Errorf("read answer: %w", err)
	}
	defer response.Body.Close()
	c.body.Reset()
	_, err = c.body.ReadFrom(response.Body)
	return answer{
		status: response.StatusCode, location: response.Header.Get("Location"),
		replayed: response.Header.Get("Idempotent-Replayed"), body: c.body.Bytes(),
	}, err
}

// tenant is an organization as a client of the service.
type tenant struct {
	number int
	// head and tail stand around the key in a request.
	head, tail string
	// first is the answer that the replays of the tenant's key have to repeat.
	first answer
	// acknowledged counts the runs that the service said it has started.
	acknowledged *atomic.Int64
}

func (s samples) newTenants() []tenant {
	tenants := make([]tenant, allTenants)
	for i := range tenants {
		number := i + 1
		tenants[i] = tenant{
			number: number, tail: tail(s.document), acknowledged: new(atomic.Int64),
			head: "POST " + startPath(number) + " HTTP/1.1\r\nHost: bench\r\nUser-Agent: bench\r\n" +
				"Authorization: Bearer " + secretPrefix + numbered(number) + "\r\nIdempotency-Key: ",
		}
	}
	return tenants
}

// tail is what follows the key.
func tail(content string) string {
	return "\r\nContent-Type: text/csv\r\nX-Filename: meter-readings.csv\r\nContent-Length: " +
		strconv.Itoa(len(content)) + "\r\n\r\n" + content
}

// start starts a run with a new key, with more headers where they are given, and checks that it is one.
func (t *tenant) start(c *client, key string, headers ...string) (answer, error) {
	got, err := c.send(t.head, key, strings.Join(headers, ""), t.tail)
	id := strings.TrimSuffix(strings.TrimPrefix(got.location, "/api/runs/"), "/")
	switch {
	case err != nil:
		return got, err
	case got.status != http.StatusCreated:
		return got, fmt.Errorf("a new key was answered with %d: %s", got.status, got.body)
	case got.replayed != "":
		return got, fmt.Errorf("a new key was replayed: %s", got.body)
	case got.location != "/api/runs/"+id+"/" || !bytes.Contains(got.body, []byte(`"id":"`+id+`"`)):
		return got, fmt.Errorf("location %q is not that of the run: %s", got.location, got.body)
	}
	t.acknowledged.Add(1)
	return got, nil
}

// replay repeats the request of the tenant's first run and checks that the answer is the first one.
func (t *tenant) replay(c *client) error {
	got, err := c.send(t.head, keyPrefix, numbered(t.number), t.tail)
	switch {
	case err != nil:
		return err
	case got.status != t.first.status || got.location != t.first.location || !bytes.Equal(got.body, t.first.body):
		return fmt.Errorf("a replay was answered with %d %s %s, the first request with %d %s %s",
			got.status, got.location, got.body, t.first.status, t.first.location, t.first.body)
	case got.replayed != "true":
		return fmt.Errorf("a replay does not say so: %s", got.body)
	}
	return nil
}

// prime starts the first run of each tenant, whose answers the replays are compared with. It also opens the usage
// counters and fills what the service keeps in memory.
func (s service) prime(ctx context.Context) error {
	return s.thawed(func() error {
		group, ctx := errgroup.WithContext(ctx)
		for part := range slices.Chunk(s.tenants, len(s.tenants)/warmClients+1) {
			group.Go(func() error {
				c, err := dial(ctx, s.addresses[0])
				if err != nil {
					return err
				}
				defer c.close()
				for i := range part {
					t := &part[i]
					if t.first, err = t.start(c, keyPrefix+numbered(t.number)); err != nil {
						return err
					}
					t.first.body = bytes.Clone(t.first.body)
					if err := errors.Join(t.replay(c), ctx.Err()); err != nil {
						return err
					}
				}
				return nil
			})
		}
		return group.Wait()
	})
}
