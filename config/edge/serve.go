// Package edge is what HTTP needs before and around the apps: the server with its limits, the middleware that knows no
// app, how a request is described in logs and traces, the documentation, and the page on which members try the API.
package edge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 2 * time.Minute
	// maxHeaderBytes is far above what core.WellFormed allows, so that mostly it is the one to refuse,
	// with a problem document.
	maxHeaderBytes = 1 << 20
)

// Config is how a server treats its clients, and how it ends.
type Config struct {
	// ReadTimeout bounds the time for a request, and WriteTimeout that for a piece of an answer.
	ReadTimeout, WriteTimeout time.Duration
	// MaxConnections is how many connections are open at the same time.
	MaxConnections int
	// MaxBodyBytes is the largest body that a route takes.
	MaxBodyBytes int64
	// ShutdownDelay is how long a server that ends has answered before, and ShutdownGrace how long requests may take to
	// end.
	ShutdownDelay, ShutdownGrace time.Duration
}

// Listen opens an address for a server.
func Listen(ctx context.Context, addr string) (net.Listener, error) {
	var lc net.ListenConfig
	// The kernel filters no connections of multipath TCP, which closeToNew needs.
	lc.SetMultipathTCP(false)
	listener, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	return listener, nil
}

// closeAfterChunks ends a connection after a request whose body comes in chunks. Such a request may also have a
// Content-Length, which net/http removes without a word, and a proxy that goes by that would take the rest of the body
// for another request (RFC 9112, section 6.3).
func closeAfterChunks(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 1 && len(r.TransferEncoding) > 0 {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// Serve answers requests until ctx ends, then lets the running ones end within the grace period.
func Serve(
	ctx context.Context, listener net.Listener, handler http.Handler, cfg Config, log *slog.Logger,
) error {
	handler, err := compressed(handler)
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler: closeAfterChunks(
			rollWriteDeadline(cfg.WriteTimeout, drainRefused(ctx, drainLimitsOf(cfg), handler))),
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       cfg.ReadTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		BaseContext:       func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(limitConnections(listener, cfg.MaxConnections)) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	if cfg.ShutdownDelay > 0 {
		closeGently(ctx, listener, log)
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), cfg.ShutdownGrace)
	defer cancel()
	if err := server.Shutdown(grace); err != nil {
		return fmt.Errorf("end the running requests: %w", errors.Join(err, server.Close()))
	}
	return nil
}

// handshakes is how long connections are accepted that were requested before closeToNew. It is many round trips.
const handshakes = 250 * time.Millisecond

// closeGently has the listener take no new connection and then waits for those that are being established. A listener
// that is just closed resets the connections that the kernel has established and the process not yet accepted, with
// the requests that are on them.
func closeGently(ctx context.Context, listener net.Listener, log *slog.Logger) {
	if err := closeToNew(listener); err != nil {
		log.WarnContext(ctx, "connections that are just being established may be reset", "error", err)
		return
	}
	<-time.After(handshakes)
}
