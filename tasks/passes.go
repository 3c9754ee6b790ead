package tasks

import (
	"sync"
	"time"

	"github.com/simplevalidations/simplevalidations/core"
)

// pass is how a loop gets on: what is known of its last pass, and of all before.
type pass struct {
	name     string
	interval time.Duration
	// began is of the last pass that was begun, ended of the last one that has ended; zero before there is one.
	began, ended time.Time
	done, total  int64
	failures     int
	// err is why a pass has failed last, at the time failed.
	err    string
	failed time.Time
}

// passes follow a loop. A nil one follows nothing.
type passes struct {
	mu   sync.Mutex
	loop pass
}

func (p *passes) begin() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.loop.began = time.Now()
}

func (p *passes) end(n int, err error, failures int) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.loop.ended = time.Now()
	p.loop.done, p.loop.failures = int64(n), failures
	p.loop.total += int64(n)
	if err != nil {
		p.loop.err, p.loop.failed = core.StorableUpTo(err.Error(), maxErrorText), p.loop.ended
	}
}

func (p *passes) last() pass {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.loop
}
