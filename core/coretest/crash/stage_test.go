package crash

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"syscall"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"github.com/simplevalidations/simplevalidations/core/coretest/outside"
	"github.com/simplevalidations/simplevalidations/core/coretest/pgproxy"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

// stage is where a case happens: an installation with a billing service, one of whose processes is the victim. The
// victim reaches the database through a proxy, everybody else around it.
type stage struct {
	*program.Installation

	flow    flow
	tenant  program.Tenant
	billing *outside.Billing
	// validator is nil where the flow has none.
	validator *outside.Validator
	// store has the documents of a flow that is stored.
	store *store
	// receiver is told of the ends of runs. It is nil where there is no webhook.
	receiver *outside.Receiver
	proxy    *pgproxy.Proxy
	request  request

	// launched is closed when the victim is there, struck when the fault has struck, and released when what the fault
	// holds may go on.
	launched, struck, released chan struct{}
	victim                     *program.Process
	// workers tells whether a background process works that nothing happens to.
	workers bool
	// front is the victim where it answers requests, and spare another server that does.
	front, spare *program.Server

	// keyless tells that the client sends its request without a key, and thus only once.
	keyless bool
	clients map[string]*program.Client
	sending sync.WaitGroup
	hangUp  context.CancelFunc

	mu sync.Mutex
	// members is how many share the commit that is struck, where a single one of that name was chosen.
	members int
	// backend is the database's process whose commit is struck.
	backend int
	// final are the answers that say how the request has ended, in the order of their arrival, and refused the others.
	final, refused []program.Answer
}

// newStage makes an installation in which nothing happens by the passing of time: leases, locks and pauses last for
// minutes, and passTime ends them. The settings win over those.
func newStage(tb testing.TB, f flow, settings ...string) *stage {
	tb.Helper()
	const secret = "of the billing service"
	service := outside.NewBilling(secret)
	listener := httptest.NewServer(service)
	tb.Cleanup(listener.Close)
	var documents *store
	if f.stored {
		documents = newStore(tb)
		settings = append(settings, "SV_CONTENT_URL="+documents.url)
	}
	s := &stage{
		store: documents,
		Installation: program.Install(tb, slices.Concat([]string{
			"SV_BILLING_URL=" + listener.URL, "SV_BILLING_SECRET=" + secret,
			"SV_KEY_LOCK=5m", "SV_RUN_LEASE=5m", "SV_RUN_SWEEP_AFTER=5m", "SV_COMPLETE_INTERVAL=100ms",
			"SV_ENQUEUE_INTERVAL=20ms", "SV_DB_IDLE_TIMEOUT=3s",
			"SV_WEBHOOK_TIMEOUT=5s", program.Reachable,
		}, f.settings, settings)...),
		flow: f, billing: service,
		launched: make(chan struct{}), struck: make(chan struct{}), released: make(chan struct{}),
	}
	s.tenant = s.Harbour
	s.clients = make(map[string]*program.Client)
	for _, token := range []string{s.tenant.Tokens.Owner, s.tenant.Tokens.Executor} {
		s.clients[token] = program.NewClient(tb, token)
	}
	s.proxy = pgproxy.Start(tb, s.database(tb))
	if f.before != nil {
		f.before(tb, s)
	}
	if s.spare != nil && (f.part == web || s.receiver != nil) {
		// It would hand over the jobs of the victim.
		s.spare.Kill()
		s.spare = nil
	}
	if f.request != nil {
		s.request = f.request(tb, s)
	}
	return s
}

// database is the address of the installation's database.
func (s *stage) database(tb testing.TB) string {
	tb.Helper()
	return s.DB.Pool.Config().ConnString()
}

// launch starts the victim, and the flow with it.
func (s *stage) launch(tb testing.TB) {
	tb.Helper()
	s.expose(tb)
	if s.flow.part != web {
		return
	}
	ctx, cancel := context.WithCancel(tb.Context())
	s.hangUp = cancel
	sent := key
	if s.keyless {
		sent = ""
	}
	s.sending.Go(func() {
		defer cancel()
		if a, err := s.try(ctx, s.request, s.front.URL(), sent); err == nil {
			s.note(tb, a)
		}
	})
}

// expose starts the victim.
func (s *stage) expose(tb testing.TB) {
	tb.Helper()
	settings := s.through(s.proxy)
	switch s.flow.part {
	case web:
		var args []string
		if !s.flow.whole {
			args = []string{"--only", "web"}
		}
		s.front = program.Serve(tb, settings, args...)
		s.victim = s.front.Process
	case worker:
		s.victim = s.background(tb, settings)
	case command:
		s.victim = program.Launch(tb, settings, "", "admin", "purge")
	}
	close(s.launched)
}

// through are the settings of a process that reaches the database through a proxy.
func (s *stage) through(p *pgproxy.Proxy) []string {
	return append(slices.Clip(s.Settings), "DATABASE_URL="+p.URL())
}

// background starts a process that executes runs and finishes what was abandoned.
func (s *stage) background(tb testing.TB, settings []string) *program.Process {
	tb.Helper()
	return program.Launch(tb, settings, "", "serve", "--only", "worker")
}

// aside is a server that nothing happens to.
func (s *stage) aside(tb testing.TB) *program.Server {
	tb.Helper()
	if s.spare == nil {
		s.spare = program.Serve(tb, s.Settings, "--only", "web")
	}
	return s.spare
}

func (s *stage) kill(tb testing.TB) {
	tb.Helper()
	if program.Hold(tb, s.launched) {
		s.victim.Kill()
	}
}

func (s *stage) freeze(tb testing.TB) {
	tb.Helper()
	if !program.Hold(tb, s.launched) {
		return
	}
	if err := s.victim.Freeze(); err != nil {
		tb.Error(err)
	}
}

// release lets go on what the fault holds, and waits for the end of the request if there is one.
func (s *stage) release(tb testing.TB) {
	tb.Helper()
	close(s.released)
	if !s.victim.HasEnded() {
		s.victim.Signal(tb, syscall.SIGCONT)
	}
	s.sending.Wait()
}

func (s *stage) flushRedis(tb testing.TB) {
	tb.Helper()
	options, err := redis.ParseURL(s.Redis)
	if err != nil {
		tb.Errorf("read the address of Redis: %v", err)
		return
	}
	client := redis.NewClient(options)
	if err := client.FlushAll(tb.Context()).Err(); err != nil {
		tb.Errorf("flush Redis: %v", err)
	}
	if err := client.Close(); err != nil {
		tb.Errorf("close the client of Redis: %v", err)
	}
}

// passTime ends all leases, locks and pauses as an hour would. It changes one row at a time, as processes that live
// lock several in an order of their own.
func (s *stage) passTime(tb testing.TB) {
	tb.Helper()
	for _, moved := range []struct{ table, where, change string }{
		{
			"idempotency_keys", "recovery_point <> 'finished'",
			"locked_until = locked_until - interval '1 hour', retry_at = retry_at - interval '1 hour'",
		},
		{
			"validation_runs", "state <> 'COMPLETED'",
			"lease_until = lease_until - interval '1 hour', sweep_after = sweep_after - interval '1 hour'",
		},
		{"webhooks", "lease_until IS NOT NULL", "lease_until = lease_until - interval '1 hour'"},
		{"uploads", "true", "sweep_after = sweep_after - interval '1 hour'"},
	} {
		rows, err := s.DB.Pool.Query(tb.Context(), "SELECT id FROM "+moved.table+" WHERE "+moved.where)
		if err != nil {
			tb.Fatal(err)
		}
		ids, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
		if err != nil {
			tb.Fatal(err)
		}
		for _, id := range ids {
			update := "UPDATE " + moved.table + " SET " + moved.change + " WHERE id = $1 AND " + moved.where
			if _, err := s.DB.Pool.Exec(tb.Context(), update, id); err != nil {
				tb.Fatalf("%s: %v", update, err)
			}
		}
	}
}

// try sends a request once. An error means that the answer is not known.
func (s *stage) try(ctx context.Context, r request, base, key string) (program.Answer, error) {
	made, err := http.NewRequestWithContext(ctx, http.MethodPost, base+r.path, bytes.NewReader(r.body))
	if err != nil {
		return program.Answer{}, err
	}
	if r.mediaType != "" {
		made.Header.Set("Content-Type", r.mediaType)
	}
	if key != "" {
		made.Header.Set("Idempotency-Key", key)
	}
	return s.clients[r.token].Do(made)
}

// send sends a request to a server that nothing happens to, and has to get an answer.
func (s *stage) send(tb testing.TB, r request, key string) program.Answer {
	tb.Helper()
	a, err := s.try(tb.Context(), r, s.aside(tb).URL(), key)
	if err != nil {
		tb.Fatalf("post %s: %v", r.path, err)
	}
	return a
}

// note keeps an answer and checks that one which is not final asks for a retry, where there is a key to retry with.
func (s *stage) note(tb testing.TB, a program.Answer) {
	tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.Status == s.flow.status {
		s.final = append(s.final, a)
		return
	}
	s.refused = append(s.refused, a)
	if s.keyless {
		return
	}
	if a.Status != http.StatusConflict && a.Status != http.StatusServiceUnavailable || !a.Problem().Retryable {
		tb.Errorf("answer = %d %s, want %d or one that asks for a retry", a.Status, a.Body, s.flow.status)
	}
}
