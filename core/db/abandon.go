package db

import (
	"context"
	"errors"
	"net"

	"github.com/jackc/pgx/v5"
)

// A statement whose context ends is abandoned: its connection is closed, and the server is not asked to cancel it.
// PostgreSQL ends the wait of a COMMIT for its synchronous standby when it is asked to cancel, and then shows what is
// on one disk only. A COMMIT that is left alone stays invisible until a standby has it
// (docs/adr/0009-deadlines-of-statements.md).

// errNoCancel is what the driver gets instead of a connection on which to send a cancel request. It ignores the error.
var errNoCancel = errors.New("statements are abandoned, not canceled")

type connectingKey struct{}

// TraceConnectStart marks the context of a new connection. The driver dials for nothing else but to cancel.
func (deadlines) TraceConnectStart(ctx context.Context, _ pgx.TraceConnectStartData) context.Context {
	return context.WithValue(ctx, connectingKey{}, true)
}

// TraceConnectEnd is needed for a tracer of connections.
func (deadlines) TraceConnectEnd(context.Context, pgx.TraceConnectEndData) {}

type dialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// onlyToConnect returns dial for new connections, and an error for everything else.
func onlyToConnect(dial dialFunc) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if ctx.Value(connectingKey{}) == nil {
			return nil, errNoCancel
		}
		return dial(ctx, network, address)
	}
}

// hangUp tells the server that nobody waits for a statement that was abandoned. The server then ends it within
// client_connection_check_interval, unless it is a COMMIT. The driver waits for the server's end of the connection, up
// to 15 seconds, and the connection keeps its place in the pool meanwhile.
func hangUp(conn *pgx.Conn) {
	if !conn.IsClosed() {
		return // The driver says goodbye to a connection that is idle.
	}
	if socket, ok := socketOf(conn.PgConn().Conn()).(interface{ CloseWrite() error }); ok {
		_ = socket.CloseWrite() // It may be closed already.
	}
}

// socketOf returns the connection beneath the encryption.
func socketOf(conn net.Conn) net.Conn {
	if encrypted, ok := conn.(interface{ NetConn() net.Conn }); ok {
		return encrypted.NetConn()
	}
	return conn
}
