package execution

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// quietAfter is how long after the last start of this process runs begin without a turn. It is longer than the
	// pause between two starts of a client that sends one after the other.
	quietAfter = 20 * time.Millisecond
	// longestTurn ends the turn of a run that takes longer, so that other runs do not wait behind a slow document. Such
	// runs are limited by the places of the engines.
	longestTurn = 20 * time.Millisecond
	// cpusPerTurn is how many CPUs there are for each run of the queue that is executed while starts come.
	cpusPerTurn = 2
)

// precedence lets starts go before the runs of the queue: a client waits for the answer to its start, and a run in a
// backlog has waited anyway. While starts come, few runs begin at once, and a backlog never stands still. A run that is
// executed where it was started needs no turn, because the client of that start may wait for it.
type precedence struct {
	begun time.Time
	// lastStart is when the last start came, as a time since begun.
	lastStart atomic.Int64
	// turns holds one item for each turn that is taken.
	turns chan struct{}
}

func newPrecedence() *precedence {
	p := &precedence{begun: time.Now(), turns: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/cpusPerTurn))}
	p.lastStart.Store(int64(-quietAfter))
	return p
}

// starting records that a start has arrived.
func (p *precedence) starting() { p.lastStart.Store(int64(time.Since(p.begun))) }

// takeTurn waits until a run of the queue may begin, and returns what ends its turn. It fails when ctx ends.
func (p *precedence) takeTurn(ctx context.Context) (func(), error) {
	for {
		quietIn := time.Duration(p.lastStart.Load()) + quietAfter - time.Since(p.begun)
		if quietIn <= 0 {
			return func() {}, nil
		}
		quiet := time.NewTimer(quietIn)
		select {
		case p.turns <- struct{}{}:
			quiet.Stop()
			end := sync.OnceFunc(func() { <-p.turns })
			time.AfterFunc(longestTurn, end)
			return end, nil
		case <-quiet.C:
		case <-ctx.Done():
			quiet.Stop()
			return nil, context.Cause(ctx)
		}
	}
}
