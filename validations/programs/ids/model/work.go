package model

import (
	"fmt"

	"github.com/simplevalidations/simplevalidations/validations/programs/port"
)

// Work bounds what the check of one model costs. A unit is a byte that is read, or an object that is visited.
type Work struct {
	left, most int64
	err        error
}

// NewWork returns so much work.
func NewWork(units int64) *Work {
	return &Work{left: units, most: units}
}

// Err says why the work ended early. What was found then has no meaning.
func (w *Work) Err() error {
	return w.err
}

// Spend charges work. It returns false when the budget is used up.
func (w *Work) Spend(units int) bool {
	if w.err != nil {
		return false
	}
	w.left -= int64(units)
	if w.left < 0 {
		reason := fmt.Sprintf("needed to read more than %d bytes and objects of the model", w.most)
		w.err = &port.ExhaustedError{Reason: reason}
	}
	return w.err == nil
}
