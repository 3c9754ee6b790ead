package edge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
)

const (
	// refusalsAtOnce bounds how many connections are refused at the same time. Beyond it they are closed unanswered.
	refusalsAtOnce = 64
	// refusalTime bounds the refusal of one connection, and refusalBytes what is read of its request.
	refusalTime  = 2 * time.Second
	refusalBytes = 64 << 10
)

// limitConnections accepts most connections at the same time and answers 503 to those beyond. They could also wait to
// be accepted, but then clients and load balancers would not learn why nothing happens. They are not shared out among
// organizations (core/share), because nobody knows yet whose a connection is.
func limitConnections(listener net.Listener, most int) net.Listener {
	return &limitedListener{
		Listener: listener, open: make(chan struct{}, most), refusals: make(chan struct{}, refusalsAtOnce),
	}
}

type limitedListener struct {
	net.Listener

	open, refusals chan struct{}
}

// Accept returns the next connection that there is room for.
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case l.open <- struct{}{}:
			return &countedConn{Conn: conn, leave: sync.OnceFunc(func() { <-l.open })}, nil
		default:
			l.turnAway(conn)
		}
	}
}

// turnAway refuses a connection in the background, so that it does not delay the next one.
func (l *limitedListener) turnAway(conn net.Conn) {
	select {
	case l.refusals <- struct{}{}:
		go func() {
			defer func() { <-l.refusals }()
			refuseConnection(conn)
		}()
	default:
		_ = conn.Close() // Nothing was sent.
	}
}

// refuseConnection answers the first request of a connection without having read it. What the client sends is read
// afterwards, because a connection that is closed with unread bytes is reset, and the answer would be lost.
func refuseConnection(conn net.Conn) {
	defer func() { _ = conn.Close() }() // Nothing is left to be sent.
	refusal, err := connectionRefusal() //nolint:bodyclose // its body is in memory
	if err != nil || conn.SetDeadline(time.Now().Add(refusalTime)) != nil || refusal.Write(conn) != nil {
		return
	}
	if half, ok := conn.(closeWriter); ok && half.CloseWrite() == nil {
		_, _ = io.CopyN(io.Discard, conn, refusalBytes) // It ends with the client, or with the deadline.
	}
}

func connectionRefusal() (*http.Response, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return nil, fmt.Errorf("make a request id: %w", err)
	}
	problem := core.Unavailable(nil)
	problem.Detail = "The server has as many connections as it takes. This request has changed nothing; send it again."
	body, err := json.Marshal(problem.Problem(id.String()))
	if err != nil {
		return nil, fmt.Errorf("render a problem: %w", err)
	}
	return &http.Response{
		StatusCode: core.Spec(problem.Code).Status, ProtoMajor: 1, ProtoMinor: 1, Close: true,
		Header: http.Header{
			"Content-Type": {core.ProblemType}, "Cache-Control": {"no-store"}, core.HeaderRequestID: {id.String()},
			"Retry-After": {strconv.Itoa(problem.RetrySeconds())},
		},
		ContentLength: int64(len(body)), Body: io.NopCloser(bytes.NewReader(body)),
	}, nil
}

// closeWriter is a connection whose sending half can be closed alone.
type closeWriter interface {
	CloseWrite() error
}

// countedConn leaves its place to another connection when it is closed.
type countedConn struct {
	net.Conn

	leave func()
}

// Close closes the connection.
func (c *countedConn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}

// CloseWrite closes the sending half, which the server does before it gives up unread bytes.
func (c *countedConn) CloseWrite() error {
	if half, ok := c.Conn.(closeWriter); ok {
		return half.CloseWrite()
	}
	return nil
}
