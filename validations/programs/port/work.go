package port

import "fmt"

// Work bounds what a check may cost, in the units of a program: a byte that is read, or a part of the document that is
// visited.
type Work struct {
	left, most int64
	reason     string
	err        error
}

// NewWork returns so much work. The reason says what took more, with %d for how much there was.
func NewWork(units int64, reason string) *Work {
	return &Work{left: units, most: units, reason: reason}
}

// Err says why the work ended early. What was found then has no meaning.
func (w *Work) Err() error {
	return w.err
}

// Spend charges work. It returns false when the budget is used up.
func (w *Work) Spend(units int) bool {
	if w.left -= int64(units); w.left < 0 {
		w.End(fmt.Sprintf(w.reason, w.most))
	}
	return w.err == nil
}

// End ends the work for another reason. The first one counts.
func (w *Work) End(reason string) {
	if w.err == nil {
		w.err = &ExhaustedError{Reason: reason}
	}
}
