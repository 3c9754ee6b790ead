package xpath

import (
	"fmt"

	"github.com/simplevalidations/simplevalidations/validations/programs/port"
)

// Work bounds what the evaluations on one document cost. One unit is a node that is visited, or a byte that is read.
type Work struct {
	left, most int
	err        error
}

// NewWork returns so much work.
func NewWork(units int) *Work {
	return &Work{left: units, most: units}
}

// Err says why the work ended early. What was evaluated then has no meaning.
func (w *Work) Err() error {
	return w.err
}

// maxText bounds the texts that expressions make: they may be far larger than the document, by whose size its check
// is given its memory.
const maxText = 16 << 20

// mayHold says whether a text of so many bytes may be made. If not, the work ends.
func (w *Work) mayHold(size int) bool {
	if w.err == nil && size > maxText {
		w.err = &port.ExhaustedError{Reason: fmt.Sprintf("needed to make a text of more than %d bytes", maxText)}
	}
	return w.err == nil
}

// spend charges work. It returns false when the budget is used up.
func (w *Work) spend(units int) bool {
	if w.err != nil {
		return false
	}
	w.left -= units
	if w.left < 0 {
		reason := fmt.Sprintf("needed to visit more than %d nodes and bytes", w.most)
		w.err = &port.ExhaustedError{Reason: reason}
	}
	return w.err == nil
}
