package program

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/db"
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

// History is the answers that clients got. All answers to a key must be the same.
type History struct {
	mu    sync.Mutex
	first map[string][]byte
}

// NewHistory begins with nothing.
func NewHistory() *History { return &History{first: map[string][]byte{}} }

// Note adds an answer, which has to be the one that was given to the key before.
func (h *History) Note(key string, a Answer) error {
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

// Add adds the answers of another history.
func (h *History) Add(other *History) {
	h.mu.Lock()
	defer h.mu.Unlock()
	maps.Copy(h.first, other.first)
}

// Size is how many keys were answered.
func (h *History) Size() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.first)
}

// Check demands that all answers to clients are true: the stored response has the same bytes, and its run is there.
func (h *History) Check(tb testing.TB, database *db.DB, org uuid.UUID) {
	tb.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	for key, body := range h.first {
		got := Count(tb, database, `
			SELECT count(*) FROM idempotency_keys AS k
			JOIN validation_runs AS r ON r.org_id = k.org_id AND r.id = k.validation_run_id
			WHERE k.org_id = $1 AND k.key = $2 AND k.response_body = $3 AND r.state = 'COMPLETED'`, org, key, body)
		if got != 1 {
			tb.Errorf("completed runs that were answered so to key %s = %d, want 1: %s", key, got, body)
		}
	}
	got := Count(tb, database, "SELECT count(*) FROM idempotency_keys WHERE org_id = $1", org)
	if got != len(h.first) {
		tb.Errorf("keys = %d, want the %d that were answered", got, len(h.first))
	}
}

// Load is clients that start runs one after the other, each under a new key, and send a request again until they
// know its outcome.
type Load struct {
	// History is the answers that the clients got so far.
	History *History
	// Unheard counts requests without an answer, Refused those with one that says to come again.
	Unheard, Refused atomic.Int64

	client *Client
	// base names the server to turn to; it may be another one each time.
	base   func() string
	orders []Order

	stop     chan struct{}
	group    sync.WaitGroup
	failures chan error

	pausing sync.Mutex
	created time.Time
	pause   time.Duration
}

// StartLoad starts the clients. What base returns may be another server each time.
func StartLoad(tb testing.TB, token string, base func() string) *Load {
	tb.Helper()
	l := &Load{
		client: NewClient(tb, token), History: NewHistory(), base: base,
		orders: []Order{Building(tb, ""), Readings(tb, "")},
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

// Finish lets every client come to know the outcome of its last request.
func (l *Load) Finish(tb testing.TB) {
	tb.Helper()
	close(l.stop)
	l.group.Wait()
	close(l.failures)
	for err := range l.failures {
		tb.Error(err)
	}
	tb.Logf("keys %d, requests without an answer %d, refused for the moment %d, longest time without a start %s",
		l.History.Size(), l.Unheard.Load(), l.Refused.Load(), l.pause.Round(time.Millisecond))
}

func (l *Load) work(ctx context.Context, name string) error {
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
func (l *Load) insist(ctx context.Context, o Order) error {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	for {
		a, err := l.client.Try(ctx, l.base(), o)
		switch {
		case err != nil:
			l.Unheard.Add(1)
		case a.Created():
			l.noteTime()
			return l.History.Note(o.Key, a)
		case a.Status == http.StatusConflict || a.Status == http.StatusServiceUnavailable:
			l.Refused.Add(1)
		default:
			return fmt.Errorf("start with key %s: %d %s", o.Key, a.Status, a.Body)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("start with key %s: no definite answer in %s: %w", o.Key, Patience, err)
		case <-time.After(retryPace):
		}
	}
}

func (l *Load) noteTime() {
	l.pausing.Lock()
	defer l.pausing.Unlock()
	now := time.Now()
	if !l.created.IsZero() {
		l.pause = max(l.pause, now.Sub(l.created))
	}
	l.created = now
}

// Pause is the longest time without a start so far.
func (l *Load) Pause() time.Duration {
	l.pausing.Lock()
	defer l.pausing.Unlock()
	return l.pause
}

// AwaitProgress waits until that many more keys have been answered. It does not wait for clients that have given up.
func (l *Load) AwaitProgress(tb testing.TB, more int) {
	tb.Helper()
	goal := l.History.Size() + more
	Await(tb, "clients get answers", func() bool {
		select {
		case err := <-l.failures:
			tb.Fatal(err)
		default:
		}
		return l.History.Size() >= goal
	})
}
