package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/simplevalidations/simplevalidations/docs"
)

const (
	keyPrefix    = "replay-"
	primeClients = 8
	// answerPatience is far above any answer that is still of use.
	answerPatience = 30 * time.Second
)

// client is one connection that is kept alive. It writes requests as bytes, as the standard library's client would take
// a good part of the processors that it is to measure.
type client struct {
	conn   net.Conn
	reader *bufio.Reader
	// out and body are used again by each request.
	out  []byte
	body []byte
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
		err = fmt.Errorf("status = %d, want %d", got.status, http.StatusOK)
	}
	if err != nil {
		return nil, fmt.Errorf("first request: %w", err)
	}
	return c, nil
}

func (c *client) close() { _ = c.conn.Close() } // All answers are there.

// send writes the parts of one request and reads its answer.
func (c *client) send(parts ...string) (answer, error) {
	c.out = c.out[:0]
	for _, part := range parts {
		c.out = append(c.out, part...)
	}
	if err := c.conn.SetDeadline(time.Now().Add(answerPatience)); err != nil {
		return answer{}, fmt.Errorf("set deadline: %w", err)
	}
	if _, err := c.conn.Write(c.out); err != nil {
		return answer{}, fmt.Errorf("send: %w", err)
	}
	response, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		return answer{}, fmt.Errorf("read answer: %w", err)
	}
	defer response.Body.Close()
	if length := int(response.ContentLength); length < 0 {
		c.body, err = io.ReadAll(response.Body)
	} else {
		c.body = slices.Grow(c.body[:0], length)[:length]
		_, err = io.ReadFull(response.Body, c.body)
	}
	return answer{
		status: response.StatusCode, location: response.Header.Get("Location"),
		replayed: response.Header.Get("Idempotent-Replayed"), body: c.body,
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

// start starts a run with a new key, with more headers where they are given, and checks that it is one.
func (t *tenant) start(c *client, key string, headers ...string) (answer, error) {
	got, err := c.send(t.head, key, strings.Join(headers, ""), t.tail)
	if err != nil {
		return answer{}, err
	}
	id := strings.TrimSuffix(strings.TrimPrefix(got.location, "/api/runs/"), "/")
	switch {
	case got.status != http.StatusCreated:
		return answer{}, &refusal{status: got.status, body: string(got.body)}
	case got.replayed != "":
		return answer{}, fmt.Errorf("a new key was replayed: %s", got.body)
	case got.location != "/api/runs/"+id+"/" || !bytes.Contains(got.body, []byte(`"id":"`+id+`"`)):
		return answer{}, fmt.Errorf("location %q is not that of the run: %s", got.location, got.body)
	}
	t.acknowledged.Add(1)
	return got, nil
}

// startAndWait starts a run and checks that the answer has its verdict.
func (t *tenant) startAndWait(c *client, key string) error {
	got, err := t.start(c, key, "\r\nPrefer: wait=10")
	if err == nil && !bytes.Contains(got.body, []byte(`"state":"COMPLETED"`)) {
		err = fmt.Errorf("the run was not waited for: %s", got.body)
	}
	return err
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
func prime(ctx context.Context, address string, tenants []tenant) error {
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
				if err := errors.Join(part[i].replay(c), ctx.Err()); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}
