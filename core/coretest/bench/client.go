package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"time"
)

const (
	// answerPatience is far above any answer that is still of use.
	answerPatience = 30 * time.Second
	statusCreated  = http.StatusCreated
	statusSpent    = http.StatusTooManyRequests
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
	status   int
	location string
	replayed string
	body     []byte
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
	if err := c.readBody(response); err != nil {
		return answer{}, fmt.Errorf("read body: %w", err)
	}
	return answer{
		status: response.StatusCode, location: response.Header.Get("Location"),
		replayed: response.Header.Get("Idempotent-Replayed"), body: c.body,
	}, nil
}

func (c *client) readBody(response *http.Response) error {
	if response.ContentLength < 0 {
		body, err := io.ReadAll(response.Body)
		c.body = body
		return err
	}
	c.body = slices.Grow(c.body[:0], int(response.ContentLength))[:response.ContentLength]
	_, err := io.ReadFull(response.Body, c.body)
	return err
}
