package edge

import (
	"net/http"
	"time"
)

// writePiece is how many bytes a client has to read within the write timeout: the slowest tolerated client reads one
// piece in that time.
const writePiece = 16 << 10

// rollWriteDeadline closes the connection of a client that reads nothing of its answer for the given time. One deadline
// for the whole answer would also end slow clients that make progress.
func rollWriteDeadline(patience time.Duration, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := &rollingAnswer{ResponseWriter: w, control: http.NewResponseController(w), patience: patience}
		// The connection may have been idle beyond the deadline of its last answer. The server itself writes before the
		// handler does where a client waits for "100 Continue".
		answer.roll()
		next.ServeHTTP(answer, r)
		// The server sends what is still buffered now.
		answer.roll()
	})
}

// rollingAnswer moves the deadline for writing on with each piece of the answer.
type rollingAnswer struct {
	http.ResponseWriter

	control  *http.ResponseController
	patience time.Duration
	// ownDeadline is set once the handler has set a deadline itself, as event streams do. It stays as it is then.
	ownDeadline bool
}

// Write sends p piece by piece, each with a deadline of its own.
func (a *rollingAnswer) Write(p []byte) (int, error) {
	written := 0
	for {
		piece := p[written:min(len(p), written+writePiece)]
		if !a.ownDeadline {
			a.roll()
		}
		n, err := a.ResponseWriter.Write(piece)
		written += n
		if err != nil || written >= len(p) {
			return written, err
		}
	}
}

// FlushError sends what is buffered.
func (a *rollingAnswer) FlushError() error {
	if !a.ownDeadline {
		a.roll()
	}
	return a.control.Flush()
}

// SetWriteDeadline leaves the deadline to the handler from now on.
func (a *rollingAnswer) SetWriteDeadline(deadline time.Time) error {
	a.ownDeadline = true
	return a.control.SetWriteDeadline(deadline)
}

// Unwrap lets a http.ResponseController reach the server's own writer.
func (a *rollingAnswer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

func (a *rollingAnswer) roll() {
	// A connection that was taken from the server, or that is gone, has no deadlines to set.
	_ = a.control.SetWriteDeadline(time.Now().Add(a.patience))
}
