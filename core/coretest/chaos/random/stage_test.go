package random

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"github.com/simplevalidations/simplevalidations/core/client"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/coretest/outside"
	"github.com/simplevalidations/simplevalidations/core/coretest/pgproxy"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
	"github.com/simplevalidations/simplevalidations/core/embedded"
)

const (
	// lifetime is that of keys, and lease that of runs.
	lifetime = 12 * time.Second
	lease    = time.Second
	// organizations are the usual ones, of which so many have little quota left, and the last pays for what is beyond.
	organizations, scarce = 7, 3
	billingSecret         = "of the billing service"
)

// org is an organization with a client that notes what it sends.
type org struct {
	program.Tenant

	client   *client.Client
	workflow string
	told     *outside.Receiver
}

// host is a machine with a server of the program and the networks around it.
type host struct {
	*program.Server

	name string
	// front leads from clients to the server, base from the server to PostgreSQL and queue to Redis. The proxy sees
	// the commits.
	front, base, queue *program.Link
	proxy              *pgproxy.Proxy
	settings           []string
	idle               int
	// down says that the nemesis has ended the server and starts it again itself.
	down bool
}

// quiet keeps processes from showing all of their output where the test has failed: there are a hundred of them.
type quiet struct{ testing.TB }

// Failed says so to a process.
func (quiet) Failed() bool { return false }

// stage is where everything happens.
type stage struct {
	*program.Installation

	postgres *embedded.Postgres
	folder   string
	// log is what PostgreSQL has said, and said are all servers, whose logs are told of by the key.
	log       strings.Builder
	said      []*program.Server
	killRedis func()
	hosts     []*host
	orgs      []*org
	billing   *outside.Billing
	validator *outside.Validator
}

// newStage starts everything. Nothing is out of order yet.
func newStage(tb testing.TB, quota int) *stage {
	tb.Helper()
	s := &stage{folder: coretest.OpenFolder(tb), billing: outside.NewBilling(billingSecret)}
	s.postgres = coretest.StartPostgres(tb, s.folder)
	s.prepareDatabase(tb)
	queue := "redis://:chaos@" + coretest.FreeAddress(tb) + "/0"
	s.killRedis = coretest.StartRedis(tb, queue)
	listener := httptest.NewServer(s.billing)
	tb.Cleanup(listener.Close)
	s.Installation = program.InstallOn(quiet{tb}, s.postgres.URL(), queue, "DATABASE_URL="+s.postgres.URL(),
		"SV_BILLING_URL="+listener.URL, "SV_BILLING_SECRET="+billingSecret, "SV_EXTERNAL_ALLOW=127.0.0.0/8",
		"SV_WEBHOOK_TIMEOUT=1s", "SV_WEBHOOK_RETRIES="+strings.Repeat("500ms,", 60)+"1s",
		"SV_IDEMPOTENCY_TTL="+lifetime.String(), "SV_PURGE_SCHEDULE=@every 1s", "SV_RUN_LEASE="+lease.String(),
		"SV_KEY_LOCK=1s", "SV_COMPLETE_INTERVAL=300ms", "SV_SHUTDOWN_GRACE=5s", "SV_DB_STATEMENT_TIMEOUT=5s",
		"SV_DB_IDLE_TIMEOUT=3s", "SV_COMMIT_TIMEOUT=5s")
	s.execute(tb, journal)
	for _, args := range [][]string{nil, {"--only", "web"}, {"--only", "worker,scheduler"}} {
		s.hosts = append(s.hosts, s.newHost(tb, args))
	}
	s.enroll(tb, quota)
	for _, h := range s.hosts {
		h.idle = h.Metric(tb, "go_goroutines")
	}
	return s
}

// stopPostgres ends the server as a crash does: without a checkpoint, and with sessions in the middle of things.
func (s *stage) stopPostgres(tb testing.TB) {
	tb.Helper()
	ended, end := context.WithCancel(context.WithoutCancel(tb.Context()))
	end()
	if err := s.postgres.Stop(ended); err != nil {
		tb.Errorf("stop PostgreSQL: %v", err)
	}
	s.keepLog(tb)
}

// keepLog keeps what the server has said, which the next one begins anew.
func (s *stage) keepLog(tb testing.TB) {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join(s.postgres.Dir(), "postgres.log"))
	if err != nil {
		tb.Errorf("read the log of PostgreSQL: %v", err)
	}
	s.log.Write(text)
}

// prepareDatabase makes the server keep the times of commits and say which errors it answers with. The settings of a
// database win over those of the command line.
func (s *stage) prepareDatabase(tb testing.TB) {
	tb.Helper()
	for _, statement := range []string{
		"ALTER SYSTEM SET track_commit_timestamp = on", "ALTER SYSTEM SET log_line_prefix = '%m [%p] %e '",
		"ALTER DATABASE app SET log_min_messages = 'error'", "ALTER DATABASE app SET log_min_error_statement = 'error'",
	} {
		coretest.Prepare(tb, s.postgres.URL(), statement)
	}
	if err := s.postgres.Stop(tb.Context()); err != nil {
		tb.Fatalf("stop PostgreSQL: %v", err)
	}
	s.postgres = coretest.StartPostgres(tb, s.folder)
}

func (s *stage) execute(tb testing.TB, statement string) {
	tb.Helper()
	if _, err := s.DB.Pool.Exec(tb.Context(), statement, pgx.QueryExecModeSimpleProtocol); err != nil {
		tb.Fatalf("%s: %v", statement, err)
	}
}

func (s *stage) newHost(tb testing.TB, args []string) *host {
	tb.Helper()
	h := &host{name: strings.Join(append([]string{"serve"}, args...), " ")}
	address, err := pgx.ParseConfig(s.postgres.URL())
	if err != nil {
		tb.Fatalf("read the address of PostgreSQL: %v", err)
	}
	h.base = program.NewLink(tb, "unix", filepath.Join(address.Host, ".s.PGSQL.5432"))
	h.proxy = pgproxy.Start(tb, fmt.Sprintf("postgres://app@%s/app?application_name=host-%d", h.base.Address(),
		len(s.hosts)))
	queue, err := redis.ParseURL(s.Redis)
	if err != nil {
		tb.Fatalf("read the address of Redis: %v", err)
	}
	h.queue = program.NewLink(tb, "tcp", queue.Addr)
	h.settings = append(slices.Clip(s.Settings), "DATABASE_URL="+h.proxy.URL(),
		"REDIS_URL="+strings.Replace(s.Redis, queue.Addr, h.queue.Address(), 1))
	h.Server = program.Serve(quiet{tb}, h.settings, args...)
	s.said = append(s.said, h.Server)
	h.front = program.NewLink(tb, "tcp", strings.TrimPrefix(h.URL(), "http://"))
	return h
}

// enroll makes the organizations, each with a webhook. The last one has a validator of its own and little quota, and
// pays for what is beyond it.
func (s *stage) enroll(tb testing.TB, quota int) {
	tb.Helper()
	for n := range organizations {
		o := &org{
			Tenant:   s.Enroll(quiet{tb}, s.hosts[0].URL(), "canary-"+strconv.Itoa(n)),
			workflow: "building",
		}
		o.told = program.Listen(tb, s.hosts[0].URL(), o.Tokens.Owner)
		s.orgs = append(s.orgs, o)
		owner := program.NewClient(tb, o.Tokens.Owner)
		switch {
		case n == organizations-1:
			s.validate(tb, o, owner)
			program.Execute(quiet{tb}, s.Settings, "", "org", "set", o.Slug, "--runs", strconv.Itoa(quota/4))
			program.Execute(quiet{tb}, s.Settings, "", "org", "set", o.Slug, "--overage")
		case n >= organizations-1-scarce:
			program.Execute(quiet{tb}, s.Settings, "", "org", "set", o.Slug, "--runs", strconv.Itoa(quota))
		default:
			program.Execute(quiet{tb}, s.Settings, "", "org", "set", o.Slug, "--runs", "1000000")
		}
	}
}

// validate gives an organization a workflow whose second step is a call of an external validator.
func (s *stage) validate(tb testing.TB, o *org, owner *program.Client) {
	tb.Helper()
	// The secret follows from the address, so the address is there first.
	listener := httptest.NewUnstartedServer(nil)
	secret := program.Execute(quiet{tb}, s.Settings, "", "signing-secret", "show", "--org", o.Slug,
		"--validator", "http://"+listener.Listener.Addr().String())
	s.validator = outside.NewValidator(strings.TrimSpace(secret))
	s.validator.Watch(func(now outside.Moment, _ outside.Request) {
		if now == outside.Received {
			<-time.After(rand.N(lease)) // So that runs are under way when faults strike.
		}
	})
	listener.Config.Handler = s.validator
	listener.Start()
	tb.Cleanup(listener.Close)
	o.workflow = "called"
	owner.Create(tb, s.hosts[0].URL()+"/api/workflows/",
		`{"slug":"called","name":"Called","is_active":true,"definition":{"accepts":["application/json"],"steps":[`+
			`{"id":"shape","name":"Shape","type":"json_schema","config":{"schema":{"type":"object"}}},`+
			`{"id":"call","name":"Call","type":"http","config":{"url":"`+listener.URL+`"}}]}}`)
}

// newCrowd makes the clients, which reach the servers that answer.
func (s *stage) newCrowd(tb testing.TB) *crowd {
	tb.Helper()
	h := &history{http: &http.Transport{MaxIdleConnsPerHost: 200}, bodies: make(map[string]string)}
	tb.Cleanup(h.http.CloseIdleConnections)
	for _, front := range s.fronts() {
		h.fronts = append(h.fronts, front.front.Address())
	}
	for _, o := range s.orgs {
		made, err := client.New("http://service.example", client.WithToken(o.Tokens.Owner),
			client.WithHTTPClient(&http.Client{Transport: h}))
		if err != nil {
			tb.Fatal(err)
		}
		o.client = made
	}
	return &crowd{history: h, orgs: s.orgs, stop: make(chan struct{}), acts: make(map[string]int)}
}

// fronts are the hosts that answer clients.
func (s *stage) fronts() []*host { return s.hosts[:2] }

// revive starts each server again that has ended, as an operator's supervisor does.
func (s *stage) revive(tb testing.TB) {
	tb.Helper()
	for _, h := range s.hosts {
		if !h.down && h.HasEnded() {
			h.Server = h.Relaunch(quiet{tb}, h.settings)
			s.said = append(s.said, h.Server)
		}
	}
}

// heal brings everything back and waits until all servers are ready.
func (s *stage) heal(tb testing.TB) {
	tb.Helper()
	for _, h := range s.hosts {
		program.Await(tb, h.name+" is ready", func() bool {
			s.revive(tb)
			return h.Ready(tb.Context())
		})
	}
}
