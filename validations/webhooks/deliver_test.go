package webhooks_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/jobs"
	"github.com/simplevalidations/simplevalidations/core/keyring"
	"github.com/simplevalidations/simplevalidations/core/metrics"
	"github.com/simplevalidations/simplevalidations/validations/webhooks"
)

func TestMain(m *testing.M) { coretest.Main(m) }

// court is a database with organizations and their webhooks, and what delivers to them.
type court struct {
	db        *db.DB
	ring      keyring.Ring
	publisher *webhooks.Publisher
	deliverer *webhooks.Deliverer
}

func newCourt(tb testing.TB) court {
	tb.Helper()
	ring, err := keyring.Parse(keyring.Generate())
	if err != nil {
		tb.Fatal(err)
	}
	c := court{db: coretest.OpenDatabase(tb), ring: ring}
	return c.beside()
}

// beside is another process on the same database.
func (c court) beside() court {
	cfg := webhooks.Config{
		Ring: c.ring, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		Retries: []time.Duration{time.Hour}, Timeout: 15 * time.Second,
	}
	c.publisher = webhooks.NewPublisher(c.db, cfg, jobs.NewSignal())
	c.deliverer = webhooks.NewDeliverer(c.db, cfg, metrics.New("").Webhooks, slog.New(slog.DiscardHandler))
	return c
}

func (c court) exec(tb testing.TB, query string, args ...any) {
	tb.Helper()
	if _, err := c.db.Pool.Exec(tb.Context(), query, args...); err != nil {
		tb.Fatalf("%s: %v", query, err)
	}
}

// webhook adds an organization with one webhook.
func (c court) webhook(tb testing.TB, url string) uuid.UUID {
	tb.Helper()
	org, id := uuid.New(), uuid.New()
	sealed, err := c.ring.Seal(make([]byte, 32), keyring.Binding{OrgID: id, Column: "webhooks.sealed"})
	if err != nil {
		tb.Fatal(err)
	}
	c.exec(tb, `INSERT INTO organizations (id, slug, name) VALUES ($1, $2, 'Bench')`, org, org.String())
	c.exec(tb, `INSERT INTO webhooks (org_id, id, url, sealed) VALUES ($1, $2, $3, $4)`, org, id, url, sealed)
	return org
}

// happen writes events of an organization.
func (c court) happen(tb testing.TB, org uuid.UUID, n int) {
	tb.Helper()
	c.exec(tb, `SELECT note_event($1, 'key.abandoned', run => NULL, workflow => NULL, body => '{"url": "/"}')
		FROM generate_series(1, $2)`, org, n)
}

// work publishes and delivers until ctx ends, as a worker does.
func (c court) work(ctx context.Context, tb testing.TB) {
	tb.Helper()
	for ctx.Err() == nil && c.round(ctx, tb) {
		continue
	}
}

// round publishes once and delivers what is due. It reports whether that has worked.
func (c court) round(ctx context.Context, tb testing.TB) bool {
	tb.Helper()
	_, err := c.publisher.RunOnce(ctx)
	var staged []jobs.Job
	if err == nil {
		rows, _ := c.db.Pool.Query(ctx, `DELETE FROM staged_jobs RETURNING kind, org_id, subject_id, epoch`)
		staged, err = pgx.CollectRows(rows, pgx.RowToStructByPos[jobs.Job])
	}
	for _, job := range staged {
		if err == nil {
			err = c.deliverer.Handle(ctx, job)
		}
	}
	if err != nil && ctx.Err() == nil {
		tb.Error(err)
	}
	return err == nil
}

// TestProcessesShareDeliveries lets two processes publish and deliver: each event of each organization comes to its
// receiver, and its list is in the order of positions.
func TestProcessesShareDeliveries(t *testing.T) {
	t.Parallel()
	const organizations, events = 4, 200
	c := newCourt(t)
	var mu sync.Mutex
	got := make(map[string]map[string]bool)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if got[r.URL.Path] == nil {
			got[r.URL.Path] = make(map[string]bool)
		}
		got[r.URL.Path][r.Header.Get("Webhook-Id")] = true
	}))
	t.Cleanup(receiver.Close)
	var orgs []uuid.UUID
	for i := range organizations {
		orgs = append(orgs, c.webhook(t, fmt.Sprintf("%s/%d", receiver.URL, i)))
	}
	ctx, stop := context.WithCancel(t.Context())
	var workers sync.WaitGroup
	for _, process := range []court{c, c.beside()} {
		workers.Go(func() {
			process.work(ctx, t)
			_ = process.deliverer.Run(ctx) // It returns nil.
		})
	}
	for range events {
		for _, org := range orgs {
			c.happen(t, org, 1)
		}
	}
	coretest.Await(t, "all is delivered", func() bool {
		return coretest.One[int](t, c.db, `SELECT count(*) FROM webhook_deliveries WHERE delivered`) ==
			organizations*events
	})
	stop()
	workers.Wait()
	for path, ids := range got {
		if len(ids) != events {
			t.Errorf("%s got %d events, want %d", path, len(ids), events)
		}
	}
	if len(got) != organizations {
		t.Errorf("%d receivers got something, want %d", len(got), organizations)
	}
}

// BenchmarkDelivery sends events to one fast receiver by one worker.
func BenchmarkDelivery(b *testing.B) {
	c := newCourt(b)
	arrived := make(chan struct{}, 1024)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // Only that it has come counts.
		w.WriteHeader(http.StatusNoContent)
		arrived <- struct{}{}
	}))
	defer receiver.Close()
	org := c.webhook(b, receiver.URL)
	ctx, stop := context.WithCancel(b.Context())
	var worker sync.WaitGroup
	worker.Go(func() { c.work(ctx, b) })
	for b.Loop() {
		c.happen(b, org, 1000)
		for range 1000 {
			<-arrived
		}
	}
	b.ReportMetric(float64(1000*b.N)/b.Elapsed().Seconds(), "events/s")
	stop()
	worker.Wait()
	_ = c.deliverer.Run(ctx) // It returns nil.
}

// BenchmarkNeighbors measures the delay of events of 98 organizations: alone, and beside a receiver that is dead and
// one that takes five seconds.
func BenchmarkNeighbors(b *testing.B) {
	for name, beside := range map[string]bool{"Alone": false, "BesideSlowAndDead": true} {
		b.Run(name, func(b *testing.B) {
			c := newCourt(b)
			delays := make(chan time.Duration, 1024)
			var begun time.Time
			receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusNoContent)
				delays <- time.Since(begun)
			}))
			defer receiver.Close()
			slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				select {
				case <-time.After(5 * time.Second):
				case <-r.Context().Done():
				}
			}))
			defer slow.Close()
			var orgs, others []uuid.UUID
			for i := range 98 {
				orgs = append(orgs, c.webhook(b, fmt.Sprintf("%s/%d", receiver.URL, i)))
			}
			if beside {
				others = []uuid.UUID{c.webhook(b, slow.URL), c.webhook(b, "http://127.0.0.1:9/")}
			}
			ctx, stop := context.WithCancel(b.Context())
			var worker sync.WaitGroup
			worker.Go(func() { c.work(ctx, b) })
			var all []time.Duration
			for b.Loop() {
				for _, org := range others {
					c.happen(b, org, 20)
				}
				begun = time.Now()
				for _, org := range orgs {
					c.happen(b, org, 2)
				}
				for range 2 * len(orgs) {
					all = append(all, <-delays)
				}
			}
			slices.Sort(all)
			b.ReportMetric(float64(all[len(all)*99/100].Microseconds())/1000, "p99-ms")
			stop()
			worker.Wait()
			_ = c.deliverer.Run(ctx) // It returns nil.
		})
	}
}
