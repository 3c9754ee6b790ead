package idemcheck

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
)

// trial is a case that is tried.
type trial struct {
	*Checker

	ctx  context.Context //nolint:containedctx // a trial is one call
	name string

	// left is how many more requests the trial may send.
	left atomic.Int64

	mu   sync.Mutex // guards what follows
	seen []Exchange
	// limited is that an answer was 429.
	limited bool
	// shown are the values that stand for effects, by reference.
	shown map[string]map[string]bool
}

// ref is a reference of the trial, and keyOf a key. Each number is another one.
func (t *trial) ref(n int) string { return t.name + "-" + strconv.Itoa(n) }

func (t *trial) keyOf(n int) string {
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte("key of "+t.ref(n))).String()
}

// message is the request of the description with a key and a reference of their own.
func (t *trial) message(n int) message {
	m := message{Change: t.Description.Request, base: t.target + t.prefix, values: values{ref: t.ref(n)}}
	return t.keyed(m, t.keyOf(n))
}

// keyed gives a message a key, in the form of the description.
func (t *trial) keyed(m message, key string) message {
	if t.Description.Key.Quoted {
		key = `"` + key + `"`
	}
	return m.key(key)
}

// note says something between the answers.
func (t *trial) note(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seen = append(t.seen, Exchange{Answer: failure(format, args...).Error()})
}

// send sends a message and notes its answer.
func (t *trial) send(m message) answer { return t.sendBy(t.client, m) }

func (t *trial) sendBy(client *http.Client, m message) answer {
	got := t.exchangeBy(t.ctx, client, m)
	t.saw(m, got)
	return got
}

func (t *trial) saw(m message, got answer) {
	t.remember(m, got)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.limited = t.limited || got.status == http.StatusTooManyRequests
	t.seen = append(t.seen, Exchange{Curl: m.curl(t.header), Answer: got.String()})
}

func (t *trial) exchangeBy(ctx context.Context, client *http.Client, m message) answer {
	if err := t.allow(ctx); err != nil {
		return answer{err: err}
	}
	sent := time.Now()
	ctx, cancel := context.WithTimeout(ctx, t.mostFor)
	defer cancel()
	request, err := m.request(ctx, t.header, t.Lookup)
	if err != nil {
		return answer{err: err}
	}
	response, err := client.Do(request)
	if err != nil {
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err
		}
		return answer{err: err}
	}
	got := answerOf(response)
	got.sent, got.came = sent, time.Now()
	return got
}

// allow waits until another request may be sent.
func (t *trial) allow(ctx context.Context) error {
	if t.left.Add(-1) < 0 {
		return errBound
	}
	if err := t.limit.Wait(ctx); err != nil {
		return err
	}
	t.sent.Add(1)
	return nil
}

var errBound = errors.New("as many requests were sent as were announced")

func answerOf(response *http.Response) answer {
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, mostAnswer))
	return answer{status: response.StatusCode, header: response.Header, body: body, err: err}
}

// mostAnswer is how much of an answer is read.
const mostAnswer = 16 << 20

// first sends a message that has to succeed: without a first effect there is nothing to judge.
func (t *trial) first(m message) (answer, error) {
	got := t.settle(m)
	if !got.ok() {
		return got, unjudged("the first request was answered %s", got)
	}
	return got, nil
}

// settle sends a message until it is answered with more than a request to come again.
func (t *trial) settle(m message) answer {
	until := time.Now().Add(time.Duration(t.Description.Limits.Settle))
	for pause := firstPause; ; pause = min(2*pause, mostPause) {
		got := t.send(m)
		if !got.busy() || errors.Is(got.err, errBound) || time.Now().After(until) || t.pause(pause) != nil {
			return got
		}
	}
}

// The pauses between two tries grow from the first to the most.
const (
	firstPause = 50 * time.Millisecond
	mostPause  = time.Second
)

func (t *trial) pause(d time.Duration) error {
	if d <= 0 {
		return nil
	}
	select {
	case <-t.ctx.Done():
		return t.ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// atOnce sends messages at once and returns their answers in the same order.
func (t *trial) atOnce(messages ...message) []answer {
	answers := make([]answer, len(messages))
	gate := make(chan struct{})
	var group sync.WaitGroup
	for i, m := range messages {
		group.Go(func() {
			<-gate
			answers[i] = t.send(m)
		})
	}
	close(gate)
	group.Wait()
	return answers
}

// wantEffects demands that requests like the message have had so many effects.
func (t *trial) wantEffects(m message, want int) error {
	got, err := t.count(m)
	if err == nil && got != want {
		err = effectsError{failureError{fmt.Sprintf("%s instead of %d", core.Plural(got, "effect"), want)}}
	}
	return err
}

// wantNothing demands that requests like the message have done nothing, where that can be counted.
func (t *trial) wantNothing(m message) error { return counted(t.wantEffects(m, 0)) }

// counted leaves out that effects cannot be counted, where the answers have been judged.
func counted(err error) error {
	if errors.Is(err, errUncounted) {
		return nil
	}
	return err
}

// retried demands that a message, sent until it succeeds, has had one effect.
func (t *trial) retried(m message) (answer, error) {
	got := t.settle(m)
	if !got.ok() {
		return got, failure("a retry was answered %s, after up to %v", got, time.Duration(t.Description.Limits.Settle))
	}
	return got, t.wantEffects(m, 1)
}

// replays reports whether an answer is that of the first request, rather than what all requests are answered.
func (t *trial) replays(got, first answer) bool {
	return got.repeats(first) && (got.marks(first) || !t.settle(t.message(-1)).like(first))
}

// wire sends what the edit makes of a message's bytes on a connection of its own. Without patience for an answer the
// connection is closed behind the last byte; otherwise it is half closed if that is wanted.
func (t *trial) wire(m message, edit func([]byte) []byte, waits, halfCloses bool) answer {
	got := t.wired(m, edit, waits, halfCloses)
	t.saw(m, got)
	return got
}

func (t *trial) wired(m message, edit func([]byte) []byte, waits, halfCloses bool) answer {
	if err := t.allow(t.ctx); err != nil {
		return answer{err: err}
	}
	ctx, cancel := context.WithTimeout(t.ctx, t.mostFor)
	defer cancel()
	request, err := m.request(ctx, t.header, t.Lookup)
	if err != nil {
		return answer{err: err}
	}
	var text bytes.Buffer
	_ = request.Write(&text) // A buffer takes everything.
	connection, err := connect(ctx, request.URL)
	if err != nil {
		return answer{err: err}
	}
	defer connection.Close()
	if _, err := connection.Write(edit(text.Bytes())); err != nil || !waits {
		return answer{err: errors.Join(errClosed, err)}
	}
	if half, ok := connection.(interface{ CloseWrite() error }); ok && halfCloses {
		_ = half.CloseWrite() // It is broken on purpose.
	}
	deadline, _ := ctx.Deadline()
	_ = connection.SetReadDeadline(deadline) // Reading fails where this does.
	response, err := http.ReadResponse(bufio.NewReader(connection), request)
	if err != nil {
		return answer{err: err}
	}
	return answerOf(response)
}

var errClosed = errors.New("the client closed the connection")

func connect(ctx context.Context, to *url.URL) (net.Conn, error) {
	address := to.Host
	if to.Port() == "" {
		address = net.JoinHostPort(to.Hostname(), to.Scheme)
	}
	if to.Scheme == "https" {
		dialer := tls.Dialer{Config: &tls.Config{ServerName: to.Hostname(), NextProtos: []string{"http/1.1"}}}
		return dialer.DialContext(ctx, "tcp", address)
	}
	var dialer net.Dialer
	return dialer.DialContext(ctx, "tcp", address)
}
