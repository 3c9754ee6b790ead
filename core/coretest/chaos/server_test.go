package chaos

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/coretest"
)

// portAttempts is how many ports are tried: one that was free a moment ago may be taken by now.
const portAttempts = 5

// server is the program while it serves.
type server struct {
	*process
	address string
}

func (s *server) url() string { return "http://" + s.address }

// briskly are settings with which everything that is waited for happens soon. Later settings win over earlier ones.
func briskly(settings ...string) []string {
	return append([]string{
		"SV_LOG_LEVEL=warn", "SV_DB_MAX_CONNS=8", "SV_REQUESTS_PER_SECOND=0", "SV_ENQUEUE_INTERVAL=50ms",
		"SV_RUN_LEASE=2s", "SV_RUN_SWEEP_AFTER=1s", "SV_SWEEP_INTERVAL=100ms", "SV_RUN_MAX_ATTEMPTS=1000",
		"SV_SHUTDOWN_GRACE=10s",
	}, settings...)
}

// serve starts a server on a free port and waits until it is ready.
func serve(tb testing.TB, settings []string, args ...string) *server {
	tb.Helper()
	for range portAttempts {
		s := serveOn(tb, freeAddress(tb), settings, args...)
		if s.awaitReady(tb) {
			return s
		}
		if !strings.Contains(s.stderr.String(), "address already in use") {
			tb.Fatal("the server ended before it was ready")
		}
	}
	tb.Fatalf("no free port in %d attempts", portAttempts)
	return nil
}

// serveOn does not wait, and the address may turn out to be taken.
func serveOn(tb testing.TB, address string, settings []string, args ...string) *server {
	tb.Helper()
	settings = append(slices.Clip(settings), "SV_ADDR="+address)
	return &server{
		process: launch(tb, settings, "", append([]string{"serve"}, args...)...),
		address: address,
	}
}

// again starts the server anew on its old address, after its end.
func (s *server) again(tb testing.TB, settings []string) *server {
	tb.Helper()
	next := serveOn(tb, s.address, settings)
	if !next.awaitReady(tb) {
		tb.Fatal("the server did not start again")
	}
	return next
}

// awaitReady reports whether the server was ready before it ended.
func (s *server) awaitReady(tb testing.TB) bool {
	tb.Helper()
	await(tb, "the server gets ready", func() bool {
		return s.hasEnded() || s.isReady(tb.Context())
	})
	return !s.hasEnded()
}

func (s *server) isReady(ctx context.Context) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url()+"/readyz/", http.NoBody)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	return response.Body.Close() == nil && response.StatusCode == http.StatusOK
}

func freeAddress(tb testing.TB) string {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatalf("find a free port: %v", err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// tenant is an organization of the demonstration.
type tenant struct {
	ID     uuid.UUID `json:"id"`
	Slug   string    `json:"slug"`
	Tokens struct {
		Owner    string `json:"owner"`
		Executor string `json:"executor"`
		Viewer   string `json:"viewer"`
	} `json:"tokens"`
}

// demonstration is what is seeded: a large organization and one with a tiny quota.
type demonstration struct {
	harbour, tiny tenant
}

func seed(tb testing.TB, settings []string) demonstration {
	tb.Helper()
	var seeded struct {
		Orgs []tenant `json:"orgs"`
	}
	if err := json.Unmarshal([]byte(execute(tb, settings, "", "seed", "--demo", "--json")), &seeded); err != nil {
		tb.Fatalf("read what was seeded: %v", err)
	}
	if len(seeded.Orgs) != 2 {
		tb.Fatalf("seeded organizations = %d, want 2", len(seeded.Orgs))
	}
	return demonstration{harbour: seeded.Orgs[0], tiny: seeded.Orgs[1]}
}

// installation is a database and a Redis that any number of processes share.
type installation struct {
	demonstration

	settings []string
	db       *core.DB
	redis    string
}

func install(tb testing.TB, settings ...string) *installation {
	tb.Helper()
	address, queue := coretest.DatabaseURL(tb), coretest.Redis(tb)
	i := &installation{
		settings: append(briskly("DATABASE_URL="+address, "REDIS_URL="+queue), settings...),
		db:       coretest.Connect(tb, address),
		redis:    queue,
	}
	i.demonstration = seed(tb, i.settings)
	return i
}
