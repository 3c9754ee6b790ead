package chaos

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

const (
	loadClients = 6
	// loadPace is the pause of a client between two keys, so that a run can be executed for each that is started.
	loadPace = 25 * time.Millisecond
	// retryPace is its pause before it sends a request again.
	retryPace = 20 * time.Millisecond
	// doubleEvery is how often a client asks again although it was answered.
	doubleEvery = 3
)

var errContradiction = errors.New("two answers to one key differ")

// history is what clients were told. All answers to a key must be the same.
type history struct {
	mu    sync.Mutex
	first map[string][]byte
}

func newHistory() *history { return &history{first: map[string][]byte{}} }

func (h *history) note(key string, a program.Answer) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	first, known := h.first[key]
	if !known {
		h.first[key] = a.Body
		return nil
	}
	if !bytes.Equal(first, a.Body) {
		return fmt.Errorf("%w: %s: %s and %s", errContradiction, key, first, a.Body)
	}
	return nil
}

func (h *history) size() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.first)
}

// check demands that all that clients were told is so: the stored response has the same bytes, and its run is there.
func (h *history) check(tb testing.TB, db *core.DB, org uuid.UUID) {
	tb.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	for key, body := range h.first {
		got := program.Count(tb, db, `
			SELECT count(*) FROM idempotency_keys AS k
			JOIN validation_runs AS r ON r.org_id = k.org_id AND r.id = k.validation_run_id
			WHERE k.org_id = $1 AND k.key = $2 AND k.response_body = $3 AND r.state = 'COMPLETED'`, org, key, body)
		if got != 1 {
			tb.Errorf("completed runs that were answered so to key %s = %d, want 1: %s", key, got, body)
		}
	}
	got := program.Count(tb, db, "SELECT count(*) FROM idempotency_keys WHERE org_id = $1", org)
	if got != len(h.first) {
		tb.Errorf("keys = %d, want the %d that were answered", got, len(h.first))
	}
}

// load is clients that start runs one after the other, each under a new key, and send a request again until they
// know its outcome.
type load struct {
	client  *program.Client
	history *history
	// base names the server to turn to; it may be another one each time.
	base   func() string
	orders []program.Order

	stop     chan struct{}
	group    sync.WaitGroup
	failures chan error
	// unheard counts requests without an answer, refused those with one that says to come again.
	unheard, refused atomic.Int64
}

func startLoad(tb testing.TB, token string, base func() string) *load {
	tb.Helper()
	l := &load{
		client: program.NewClient(tb, token), history: newHistory(), base: base,
		orders: []program.Order{program.Building(tb, ""), program.Readings(tb, "")},
		stop:   make(chan struct{}), failures: make(chan error, loadClients),
	}
	ctx := tb.Context()
	for c := range loadClients {
		l.group.Go(func() {
			if err := l.work(ctx, fmt.Sprintf("client-%d", c)); err != nil {
				l.failures <- err
			}
		})
	}
	return l
}

// finish lets every client come to know the outcome of its last request.
func (l *load) finish(tb testing.TB) {
	tb.Helper()
	close(l.stop)
	l.group.Wait()
	close(l.failures)
	for err := range l.failures {
		tb.Error(err)
	}
	tb.Logf("keys %d, requests without an answer %d, refused for the moment %d",
		l.history.size(), l.unheard.Load(), l.refused.Load())
}

func (l *load) work(ctx context.Context, name string) error {
	for i := 0; ; i++ {
		select {
		case <-l.stop:
			return nil
		case <-time.After(loadPace):
		}
		o := l.orders[i%len(l.orders)]
		o.Key = fmt.Sprintf("%s-%d", name, i)
		if err := l.insist(ctx, o); err != nil {
			return err
		}
		if i%doubleEvery == 0 {
			if err := l.insist(ctx, o); err != nil {
				return err
			}
		}
	}
}

// insist sends an order until it is answered for good.
func (l *load) insist(ctx context.Context, o program.Order) error {
	ctx, cancel := context.WithTimeout(ctx, program.Patience)
	defer cancel()
	for {
		a, err := l.client.Try(ctx, l.base(), o)
		switch {
		case err != nil:
			l.unheard.Add(1)
		case a.Created():
			return l.history.note(o.Key, a)
		case a.Status == http.StatusConflict || a.Status == http.StatusServiceUnavailable:
			l.refused.Add(1)
		default:
			return fmt.Errorf("start with key %s: %d %s", o.Key, a.Status, a.Body)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("start with key %s: no definite answer in %s: %w", o.Key, program.Patience, err)
		case <-time.After(retryPace):
		}
	}
}

// awaitProgress waits until that many more keys have been answered.
func (l *load) awaitProgress(tb testing.TB, more int) {
	tb.Helper()
	goal := l.history.size() + more
	program.Await(tb, "clients get answers", func() bool { return l.history.size() >= goal })
}
