package db

import "errors"

var errNotSent = errors.New("the statement was not sent yet")

// Future is what a queued statement will have answered once its batch or its loader was sent. Beside the variables that
// AllInto and OneInto collect into, it is the only kind of value that is filled in later.
type Future[T any] struct {
	// sent is the batch's or the loader's, and nil for a value that was known from the beginning.
	sent  *bool
	value T
}

// Known returns a future whose value needs no statement.
func Known[T any](value T) *Future[T] {
	return &Future[T]{value: value}
}

// Get returns the value. It is an error to ask before the statement was sent.
func (f *Future[T]) Get() (T, error) {
	if f.sent != nil && !*f.sent {
		var none T
		return none, errNotSent
	}
	return f.value, nil
}
