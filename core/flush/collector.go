// Package flush collects in memory what would cost each request a row, and writes it all now and then.
package flush

import (
	"context"
	"errors"
	"sync"

	"github.com/simplevalidations/simplevalidations/core/db"
)

// Buffer is what is collected between two flushes.
type Buffer[B any] interface {
	Empty() bool
	// Restore adds what was taken earlier and not written, as far as there is room for it.
	Restore(taken B)
}

// Collector collects in a buffer until Flush writes it. A crash loses what was not written.
type Collector[B Buffer[B]] struct {
	newBuffer func() B

	mu     sync.Mutex
	buffer B
}

// NewCollector makes a Collector. A loop has to call Flush.
func NewCollector[B Buffer[B]](newBuffer func() B) *Collector[B] {
	return &Collector[B]{newBuffer: newBuffer, buffer: newBuffer()}
}

// Collect adds to the buffer. Requests wait for each other in it, so add does nothing slow.
func (c *Collector[B]) Collect(add func(buffer B)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	add(c.buffer)
}

// Flush writes what was collected since the last call. It always returns 0, because there is no reason to call it again
// at once. What was certainly not written is kept for the next call. After an unknown outcome it is dropped, because
// counting too little is better than counting twice.
func (c *Collector[B]) Flush(ctx context.Context, write func(ctx context.Context, taken B) error) (int, error) {
	taken := c.take()
	if taken.Empty() {
		return 0, nil
	}
	err := write(ctx, taken)
	if err != nil && !errors.Is(err, db.ErrOutcomeUnknown) {
		c.Collect(func(buffer B) { buffer.Restore(taken) })
	}
	return 0, err
}

func (c *Collector[B]) take() B {
	c.mu.Lock()
	defer c.mu.Unlock()
	taken := c.buffer
	c.buffer = c.newBuffer()
	return taken
}
