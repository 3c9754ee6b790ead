package execution

import "github.com/simplevalidations/simplevalidations/core/share"

// Usage returns first the places of the engines of runs from the queue, and then the memory of all engines of the
// process.
func (e *Executor) Usage() (share.Usage, share.Usage) {
	return e.places.Usage(), e.memory.Usage()
}

// Usage returns the places of the runs that are executed where they were started. There are none while the process
// executes no such runs.
func (l *Local) Usage() share.Usage {
	l.mu.Lock()
	defer l.mu.Unlock()
	usage := l.places.Usage()
	if !l.open {
		usage.Places = usage.Taken
	}
	return usage
}
