package execution

import "github.com/simplevalidations/simplevalidations/core/share"

// Usage returns the places of the engines of runs from the queue, and the memory of all engines of the process.
func (e *Executor) Usage() (places, memory share.Usage) {
	return e.places.Usage(), e.memory.Usage()
}
