package tasks

import (
	"sync"
	"time"

	"github.com/simplevalidations/simplevalidations/core"
)

// pass is the state of a loop: its last pass, and the totals of all passes.
type pass struct {
	name     string
	interval time.Duration
	// began is the start of the last pass, and ended the end of the last finished one; zero before the first.
	began, ended time.Time
	done, total  int64
	failures     int
	// err is the error of the last failed pass, at the time failed.
	err    string
	failed time.Time
}

// passes records the passes of a loop. A nil one records nothing.
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
