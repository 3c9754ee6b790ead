package edge

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/simplevalidations/simplevalidations/core"
)

// drainLimits bound what is read of the bodies of refused requests.
type drainLimits struct {
	// bytes bounds one body.
	bytes int64
	// total bounds the time for one body, and pause the time in which drainPiece of it has to arrive.
	total, pause time.Duration
	// atOnce bounds how many bodies are drained at the same time. Others are left unread.
	atOnce int
}

const (
	// drainMargin is how much larger than allowed a body may be whose client still sees that it is too large.
	drainMargin = 6 << 20
	drainTotal  = 30 * time.Second
	drainPause  = 5 * time.Second
	// drainPiece over drainPause is the slowest client that is waited for.
	drainPiece   = 64 << 10
	drainsAtOnce = 256
)

func drainLimitsOf(cfg Config) drainLimits {
	return drainLimits{
		bytes: cfg.MaxBodyBytes + drainMargin,
		total: min(drainTotal, cfg.ReadTimeout), pause: drainPause,
		atOnce: drainsAtOnce,
	}
}

// drainRefused reads what is left of a request's body after it was refused, within limits. Without it the connection
// would be reset under clients that write the whole request before they read, and the refusal would be lost. The
// answer is sent before, complete, for clients that read at once.
//
// It is for HTTP/1 alone: HTTP/2 resets one stream and keeps the connection. When ctx ends, all drains end.
func drainRefused(ctx context.Context, limits drainLimits, next http.Handler) http.Handler {
	slots := make(chan struct{}, limits.atOnce)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 1 || r.ContentLength == 0 {
			next.ServeHTTP(w, r)
			return
		}
		// The server looks into the request's own body afterwards, so only a copy gets the watched one.
		watched := *r
		answer := &refusal{ResponseWriter: w, request: r, body: core.WatchBody(&watched)}
		next.ServeHTTP(answer, &watched)
		if !answer.held() {
			return
		}
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
			answer.sendThenDrain(ctx, limits)
		default:
			answer.release()
		}
	})
}

// drain reads a body to its end and reports whether it got there. Every piece has a deadline.
func drain(ctx context.Context, body io.Reader, limits drainLimits, control *http.ResponseController) bool {
	defer context.AfterFunc(ctx, func() {
		_ = control.SetReadDeadline(time.Now()) // Without it the drain ends a little later.
	})()
	end := time.Now().Add(limits.total)
	for drained := int64(0); drained < limits.bytes; {
		due := time.Now().Add(limits.pause)
		if due.After(end) {
			due = end
		}
		// The context is looked at after the deadline is set: one that ends now replaces the deadline.
		if err := control.SetReadDeadline(due); err != nil || ctx.Err() != nil {
			return false
		}
		n, err := io.CopyN(io.Discard, body, min(drainPiece, limits.bytes-drained))
		drained += n
		if err != nil {
			return errors.Is(err, io.EOF)
		}
	}
	return false
}

// refusal holds an answer back that is written while the body is still coming, until its length is known: the client
// has to see where it ends before the body is drained. Errors and redirects are held, which are short. All other
// answers pass through.
type refusal struct {
	http.ResponseWriter

	request *http.Request
	body    *core.WatchedBody
	status  int
	text    bytes.Buffer
}

// isComing reports whether the client may be writing the body. One that waits for permission does not.
func (a *refusal) isComing() bool {
	return a.body.Err == nil && (a.body.Asked || a.request.Header.Get("Expect") == "")
}

// WriteHeader begins the answer.
func (a *refusal) WriteHeader(status int) {
	if status < http.StatusMultipleChoices || !a.isComing() {
		a.ResponseWriter.WriteHeader(status)
		return
	}
	if !a.held() {
		a.status = status
	}
}

// Write adds to the answer.
func (a *refusal) Write(p []byte) (int, error) {
	if a.held() {
		return a.text.Write(p)
	}
	return a.ResponseWriter.Write(p)
}

// FlushError sends what there is of the answer. A held one then goes on as any other.
func (a *refusal) FlushError() error {
	if a.held() {
		a.release()
	}
	return http.NewResponseController(a.ResponseWriter).Flush()
}

// Unwrap lets a http.ResponseController reach the server's own writer.
func (a *refusal) Unwrap() http.ResponseWriter { return a.ResponseWriter }

func (a *refusal) held() bool { return a.status != 0 }

// release writes the held answer.
func (a *refusal) release() {
	a.ResponseWriter.WriteHeader(a.status)
	a.status = 0
	_, _ = a.text.WriteTo(a.ResponseWriter) // A client that has gone misses nothing.
}

// sendThenDrain sends the held answer, complete, and reads the rest of the body.
func (a *refusal) sendThenDrain(ctx context.Context, limits drainLimits) {
	control := http.NewResponseController(a.ResponseWriter)
	// Otherwise the server would wait for up to 256 KiB of the body before it sends the answer.
	if err := control.EnableFullDuplex(); err != nil {
		a.release()
		return
	}
	header := a.Header()
	if a.request.Method != http.MethodHead {
		header.Set("Content-Length", strconv.Itoa(a.text.Len()))
	}
	if a.request.ContentLength-a.body.Size > limits.bytes {
		header.Set("Connection", "close")
	}
	a.release()
	if control.Flush() == nil && drain(ctx, a.body, limits, control) {
		return
	}
	// The rest of the body must never be read as the next request, so the connection is taken from the server.
	if conn, _, err := control.Hijack(); err == nil {
		_ = conn.Close() // Nothing is left to be sent.
	}
}
