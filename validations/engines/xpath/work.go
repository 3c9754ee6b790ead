package xpath

import (
	"fmt"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// Work bounds what the evaluations on one document cost. One unit is a node that is visited, or a byte that is read.
type Work struct {
	left, untilCheck int
	most             int
	ended            func() error
	err              error
}

// checkEvery is how much work is done between two looks at the context.
const checkEvery = 1 << 16

// NewWork returns so much work, that ends as well once ended returns an error.
func NewWork(units int, ended func() error) *Work {
	return &Work{left: units, untilCheck: checkEvery, most: units, ended: ended}
}

// Err says why the work ended early. What was evaluated then has no meaning.
func (w *Work) Err() error {
	return w.err
}

// maxText bounds the texts that expressions make: they may be far larger than the document, by whose size its check
// takes memory from the budget of the process.
const maxText = 16 << 20

// mayHold says whether a text of so many bytes may be made. If not, the work ends.
func (w *Work) mayHold(size int) bool {
	if w.err == nil && size > maxText {
		w.err = &engine.ExhaustedError{Reason: fmt.Sprintf("needed to make a text of more than %d bytes", maxText)}
	}
	return w.err == nil
}

// spend charges work. It returns false when the budget is used up.
func (w *Work) spend(units int) bool {
	if w.err != nil {
		return false
	}
	w.left -= units
	w.untilCheck -= units
	if w.left < 0 {
		reason := fmt.Sprintf("needed to visit more than %d nodes and bytes", w.most)
		w.err = &engine.ExhaustedError{Reason: reason}
		return false
	}
	if w.untilCheck < 0 {
		w.untilCheck = checkEvery
		w.err = w.ended()
	}
	return w.err == nil
}
