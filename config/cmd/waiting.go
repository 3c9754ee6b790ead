package cmd

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/simplevalidations/simplevalidations/config"
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
			"error", err, "hint", config.DatabaseHint(err), "in_ms", rest.Milliseconds())
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(rest):
		}
	}
}
