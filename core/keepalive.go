package core

import (
	"context"
	"sync"
	"time"
)

// KeepAlive calls lost in every interval, which renews a lease and reports whether it was taken over. In that case the
// returned context ends with the cause; it also ends with ctx. The returned function ends the calls and waits for a
// running one; call it when the work is done.
func KeepAlive(
	ctx context.Context, interval time.Duration, cause error, lost func(ctx context.Context) bool,
) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	var beating sync.WaitGroup
	beating.Go(func() {
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				if lost(ctx) {
					cancel(cause)
					return
				}
			}
		}
	})
	return ctx, func() {
		cancel(nil)
		beating.Wait()
	}
}
