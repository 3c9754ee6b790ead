package edge

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"
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
		body := &watchedBody{ReadCloser: r.Body, left: r.ContentLength, awaited: r.Header.Get("Expect") != ""}
		answer := &refusal{ResponseWriter: w, body: body}
		// The server looks into the request's own body afterwards, so only a copy gets the watched one.
		watched := *r
		watched.Body = body
		next.ServeHTTP(answer, &watched)
		if !answer.held() {
			return
		}
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
			answer.sendThenDrain(ctx, limits, r.Method)
		default:
			answer.release()
		}
	})
}

// watchedBody knows how far a request's body has been read.
type watchedBody struct {
	io.ReadCloser

	// left is how much is to come, below zero where the client did not say.
	left int64
	// awaited is set while the client waits for permission to send. The first read gives it.
	awaited bool
	// ended is set when nothing more can be read.
	ended bool
}

// Read reads on.
func (b *watchedBody) Read(p []byte) (int, error) {
	b.awaited = false
	n, err := b.ReadCloser.Read(p)
	if b.left >= 0 {
		b.left -= int64(n)
	}
	b.ended = b.ended || err != nil
	return n, err
}

// Close gives up the rest of the body.
func (b *watchedBody) Close() error {
	b.ended = true
	return b.ReadCloser.Close()
}

// isComing reports whether the client may be writing.
func (b *watchedBody) isComing() bool { return !b.ended && !b.awaited }

// drain reads the body to its end and reports whether it got there. Every piece has a deadline.
func (b *watchedBody) drain(ctx context.Context, limits drainLimits, control *http.ResponseController) bool {
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
		n, err := io.CopyN(io.Discard, b, min(drainPiece, limits.bytes-drained))
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

	body   *watchedBody
	status int
	text   bytes.Buffer
}

// WriteHeader begins the answer.
func (a *refusal) WriteHeader(status int) {
	if status < http.StatusMultipleChoices || !a.body.isComing() {
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
func (a *refusal) sendThenDrain(ctx context.Context, limits drainLimits, method string) {
	control := http.NewResponseController(a.ResponseWriter)
	// Otherwise the server would wait for up to 256 KiB of the body before it sends the answer.
	if err := control.EnableFullDuplex(); err != nil {
		a.release()
		return
	}
	header := a.Header()
	if method != http.MethodHead {
		header.Set("Content-Length", strconv.Itoa(a.text.Len()))
	}
	if a.body.left > limits.bytes {
		header.Set("Connection", "close")
	}
	a.release()
	if control.Flush() == nil && a.body.drain(ctx, limits, control) {
		return
	}
	// The rest of the body must never be read as the next request, so the connection is taken from the server.
	if conn, _, err := control.Hijack(); err == nil {
		_ = conn.Close() // Nothing is left to be sent.
	}
}
