package execution

import (
	"context"
	"errors"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/simplevalidations/simplevalidations/core/share"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// errStopping means that the process stops and hands over the runs that it has not executed.
var errStopping = errors.New("the process stops")

// Local executes runs in the process that has started them. The start's own transaction writes the lease, so there is
// no staged job and nothing is read back. Runs without a slot here are staged and left to the workers.
type Local struct {
	executor *Executor
	grace    time.Duration
	// slots are those of runs from before their commit to their end.
	slots *share.Places
	// engines are the places to compute. They are not shared with the runs from the queue, so neither waits for the
	// other.
	engines *share.Places

	mu sync.Mutex
	// open is set while slots can be acquired.
	open bool
	// begun holds what ends each execution.
	begun map[*Slot]context.CancelCauseFunc
	// acquired counts the slots that were not released.
	acquired sync.WaitGroup
}

// NewLocal makes a Local with slots for this many runs, which can be acquired once it is open. When the process stops,
// runs that have begun may go on for the grace.
func NewLocal(executor *Executor, slots int, grace time.Duration) *Local {
	return &Local{
		executor: executor, grace: grace, slots: share.New(slots, 0),
		engines: share.New(localEnginesPerCPU*runtime.GOMAXPROCS(0), 0),
		begun:   make(map[*Slot]context.CancelCauseFunc),
	}
}

// Open lets slots be acquired. The caller has to call Run.
func (l *Local) Open() { l.setOpen(true) }

// Run waits until ctx ends. Then it hands over the runs that wait for an engine, gives the others the grace to end,
// hands over what is left, and returns.
func (l *Local) Run(ctx context.Context) error {
	<-ctx.Done()
	l.setOpen(false)
	l.engines.Close(errStopping)
	ended := time.AfterFunc(l.grace, l.interrupt)
	defer ended.Stop()
	l.acquired.Wait()
	return nil
}

func (l *Local) setOpen(open bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open = open
}

// interrupt ends the executions that have outlasted the grace. Each hands its run over.
func (l *Local) interrupt() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, end := range l.begun {
		end(errStopping)
	}
}

// Slot is the right to execute one run in this process. It is acquired before the transaction that creates the run,
// and given back by Release or when the execution has ended.
type Slot struct {
	local *Local
	// release frees the slot and the memory of its run.
	release func()
	// acquiredAt is before the beginning of the run's lease.
	acquiredAt time.Time
	// used is set once the slot was released, or its execution will release it.
	used bool
}

// Acquire takes a slot for a run that is about to be created, or returns nil if the run is to be staged: no slot or no
// memory for its engines is free at once, its document is not in memory, or one of its steps calls an external
// validator.
//
// It also reports the start, because starts go before the runs of the queue.
func (l *Local) Acquire(run validations.Prepared, definition validations.Definition) *Slot {
	l.executor.priority.starting()
	document := run.Submission
	isExternal := func(step validations.Step) bool { return step.Type == engines.KindHTTP }
	if document.Content == nil || slices.ContainsFunc(definition.Steps, isExternal) {
		return nil
	}
	weight := definition.Weight(document.MediaType, document.Size)
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.open {
		return nil
	}
	leave, ok := l.slots.TryTake(run.Run.OrgID, 0)
	if !ok {
		return nil
	}
	release := leave
	if weight > 0 {
		free, ok := l.executor.memory.TryTake(run.Run.OrgID, weight)
		if !ok {
			leave()
			return nil
		}
		release = func() { free(); leave() }
	}
	l.acquired.Add(1)
	return &Slot{local: l, release: release, acquiredAt: time.Now()}
}

// Lease is how long the slot's run may be executed from its creation on, and 0 for no slot.
func (s *Slot) Lease() time.Duration {
	if s == nil {
		return 0
	}
	return s.local.executor.cfg.Lease
}

// Release frees the slot unless Execute has taken it over. It is for a start that has failed or was refused, or
// whose outcome is unknown.
func (s *Slot) Release() {
	if s == nil || s.used {
		return
	}
	s.used = true
	s.release()
	s.local.acquired.Done()
}

// Execute executes the slot's run beside the caller, once it was created for certain. When the execution has ended and
// the slot is free again, the returned channel receives whether the run is completed, and is closed. It is nil for no
// slot.
func (s *Slot) Execute(ctx context.Context, run validations.Prepared) <-chan bool {
	if s == nil {
		return nil
	}
	s.used = true
	completed := make(chan bool, 1)
	// The execution goes on when the request has ended.
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	s.local.add(s, cancel)
	go func() {
		defer s.local.acquired.Done()
		defer close(completed)
		ended := s.execute(ctx, run)
		s.local.remove(s)
		cancel(nil)
		s.release()
		completed <- ended
	}()
	return completed
}

func (l *Local) add(s *Slot, end context.CancelCauseFunc) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begun[s] = end
}

func (l *Local) remove(s *Slot) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.begun, s)
}

// execute reports whether the run is completed. A panic is a failed attempt, as it is in a worker.
//
// If the commit was slow, or the process was frozen, the lease may be nearly over or the run taken over. Then the lease
// is renewed before anything is computed, which fails if another holder has raised the epoch.
func (s *Slot) execute(ctx context.Context, created validations.Prepared) bool {
	e := s.local.executor
	run := created.Run
	run.Attempts = 1
	defer func() {
		if reason := recover(); reason != nil {
			e.log.ErrorContext(ctx, "local execution panicked", "org", run.OrgID, "run", run.ID, "reason", reason,
				"stack", string(debug.Stack()))
			e.release(ctx, run)
		}
	}()
	if time.Since(s.acquiredAt) > e.cfg.Lease/heartbeatsPerLease && e.lost(ctx, run) {
		return false
	}
	e.metrics.Began(time.Since(run.CreatedAt))
	ctx, span := e.cfg.Tracer.Start(ctx, "run.execute")
	defer span.End()
	e.describe(span, run)
	leased := lease{run: run, submission: created.Submission}
	return e.executeOrGiveBack(ctx, leased, resources{engines: s.local.engines})
}

// Usage returns the places of the runs that are executed where they were started. There are none while the process
// executes no such runs.
func (l *Local) Usage() share.Usage {
	l.mu.Lock()
	defer l.mu.Unlock()
	usage := l.slots.Usage()
	if !l.open {
		usage.Places = usage.Taken
	}
	return usage
}
