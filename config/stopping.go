package config

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/simplevalidations/simplevalidations/core/db"
)

// ignoreHangups keeps the process running on SIGHUP, which the end of a terminal and habits of reloading send. Settings
// are read at the start alone. The returned function ends this.
func ignoreHangups(ctx context.Context, log *slog.Logger) func() {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-hangups:
				log.WarnContext(ctx, "SIGHUP is ignored: settings are read at the start, so restart to change them")
			case <-done:
				return
			}
		}
	}()
	return func() {
		signal.Stop(hangups)
		close(done)
	}
}

const (
	// minRest and maxRest bound the pauses between two attempts to reach the database.
	minRest = 500 * time.Millisecond
	maxRest = 10 * time.Second
)

// awaitBackend opens the database, and waits for one that is unavailable: after a power failure it may start last. It
// returns any other error, for example of a wrong password, at once.
func awaitBackend(
	ctx context.Context, log *slog.Logger, open func(context.Context) (*backend, error),
) (*backend, error) {
	for rest := minRest; ; rest = min(2*rest, maxRest) {
		b, err := open(ctx)
		if err == nil || ctx.Err() != nil || !db.IsAway(err) {
			return b, err
		}
		log.WarnContext(ctx, "the database is unavailable, and is tried again",
			"error", err, "hint", databaseHint(err), "in_ms", rest.Milliseconds())
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(rest):
		}
	}
}

// outlive returns a context that ends the delay after ctx does.
func outlive(ctx context.Context, delay time.Duration) (context.Context, context.CancelFunc) {
	later, cancel := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() {
		select {
		case <-time.After(delay):
		case <-later.Done():
		}
		cancel()
	})
	return later, cancel
}

// isStopping reports whether the process was asked to stop. Until the shutdown delay is over it answers requests, and
// its readiness probe fails, so that load balancers send new ones elsewhere.
func (p *Project) isStopping() bool {
	select {
	case <-p.stopping:
		return true
	default:
		return false
	}
}

// retireConnections ends the connection of each request that arrives while the process stops. The client opens another
// one, which a load balancer gives to another process.
func (p *Project) retireConnections(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p.isStopping() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
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
