package execution

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// quietAfter is how long after the last start of this process all runs are admitted. It is longer than the
	// pause between two starts of a client that sends one after the other.
	quietAfter = 20 * time.Millisecond
	// longestWait is how long a run keeps the next one waiting, so that none waits behind a slow document. Slow runs
	// are limited by the places of the engines.
	longestWait = 20 * time.Millisecond
	// cpusPerRun is how many CPUs there are for each run of the queue that is admitted while starts come.
	cpusPerRun = 2
)

// startPriority lets starts go before the runs of the queue: a client waits for the answer to its start, and a run in a
// backlog has waited anyway. While starts come, few runs begin at once, and a backlog never stands still. A run that is
// executed where it was started is not kept waiting, because the client of that start may wait for it. It orders two
// kinds of work; the organizations of both share the places behind it (core/share).
type startPriority struct {
	begun time.Time
	// lastStart is when the last start came, as a time since begun.
	lastStart atomic.Int64
	// admitted holds one item for each run that keeps others waiting.
	admitted chan struct{}
}

func newStartPriority() *startPriority {
	p := &startPriority{begun: time.Now(), admitted: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/cpusPerRun))}
	p.lastStart.Store(int64(-quietAfter))
	return p
}

// starting records that a start has arrived.
func (p *startPriority) starting() { p.lastStart.Store(int64(time.Since(p.begun))) }

// admit waits until a run of the queue may begin, and returns what admits the next one. It fails when ctx ends.
func (p *startPriority) admit(ctx context.Context) (func(), error) {
	for {
		quietIn := time.Duration(p.lastStart.Load()) + quietAfter - time.Since(p.begun)
		if quietIn <= 0 {
			return func() {}, nil
		}
		quiet := time.NewTimer(quietIn)
		select {
		case p.admitted <- struct{}{}:
			quiet.Stop()
			end := sync.OnceFunc(func() { <-p.admitted })
			time.AfterFunc(longestWait, end)
			return end, nil
		case <-quiet.C:
		case <-ctx.Done():
			quiet.Stop()
			return nil, context.Cause(ctx)
		}
	}
}
