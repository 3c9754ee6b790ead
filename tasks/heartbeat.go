package tasks

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
)

const (
	beatInterval = 12 * time.Second
	// silentAfter is the time of three missed beats.
	silentAfter = 40 * time.Second
	// forgottenAfter is how long a killed process is listed.
	forgottenAfter = 24 * time.Hour
	leaveTimeout   = 2 * time.Second
)

// Process describes a process.
type Process struct {
	Host    string
	PID     int
	Version string
	// Parts are the roles that it was started with.
	Parts []string
}

// Heartbeat records that this process lives, and the state of its loops. When it fails, the loops go on.
type Heartbeat struct {
	db      *db.DB
	id      uuid.UUID
	process Process
	started time.Time
	loops   []*passes
}

// NewHeartbeat makes the Heartbeat of this process.
func NewHeartbeat(database *db.DB, process Process) (*Heartbeat, error) {
	id := core.NewID()
	return &Heartbeat{db: database, id: id, process: process, started: time.Now()}, nil
}

// Follow returns the loop with its passes recorded by the heartbeat. Call it before the loop and Run.
func (h *Heartbeat) Follow(loop Loop) Loop {
	loop.passes = &passes{loop: pass{name: loop.Name, interval: loop.Interval}}
	h.loops = append(h.loops, loop.passes)
	return loop
}

// Run beats until ctx ends. Then it deletes the process, which has stopped and is not silent.
func (h *Heartbeat) Run(ctx context.Context, log *slog.Logger) error {
	beating := Loop{Name: "heartbeat", Interval: beatInterval, RunOnce: h.Beat}
	if err := beating.Run(ctx, log); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
	defer cancel()
	if err := h.delete(ctx); err != nil {
		log.WarnContext(ctx, "the heartbeat of this process was not deleted", "error", err)
	}
	return nil
}

// Beat writes the state of the process and of its loops, and deletes processes that were killed long ago. It returns 0,
// because a beat leaves nothing to be done at once.
func (h *Heartbeat) Beat(ctx context.Context) (int, error) {
	loops := make([]pass, len(h.loops))
	for i, loop := range h.loops {
		loops[i] = loop.last()
	}
	return 0, h.upsert(ctx, loops)
}

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
