package execution

import "github.com/simplevalidations/simplevalidations/core/share"

// Usage returns first the places of the engines of runs from the queue, and then the memory of all engines of the
// process.
func (e *Executor) Usage() (share.Usage, share.Usage) {
	return e.places.Usage(), e.memory.Usage()
}
