package random

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
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
	"github.com/simplevalidations/simplevalidations/core/coretest/chaos/requests"
	"github.com/simplevalidations/simplevalidations/core/coretest/outside"
	"github.com/simplevalidations/simplevalidations/core/coretest/pgproxy"
	"github.com/simplevalidations/simplevalidations/core/coretest/postgres"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
	"github.com/simplevalidations/simplevalidations/core/db"
)

// programVariable names the program that a process is started from.
const programVariable = "TEST_PROGRAM"

const (
	// pooled is the host that reaches PostgreSQL by a PgBouncer.
	pooled = 1
	// lifetime is that of keys, and lease that of runs.
	lifetime = 12 * time.Second
	lease    = time.Second
	// organizations are those that stay, of which so many have little quota left, and the last pays for what is beyond.
	organizations, scarce = 7, 3
	billingSecret         = "of the billing service"
)

// org is an organization with a client that notes what it sends.
type org struct {
	program.Tenant

	client   *client.Client
	workflow string
	told     *outside.Receiver
	// spells are when it was suspended.
	spells []*spell
	// leaves is when it began to be deleted or moved, and left when that was over; both are zero if it stays.
	leaves, left time.Time
	moves        bool
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

	profile profile
	ground  *postgres.Ground
	pair    *postgres.Pair
	// roads lead to the primary, whichever server that is.
	roads []*program.Link
	// said are all servers, whose logs are told of by the key.
	said      []*program.Server
	killRedis func()
	hosts     []*host
	// other is the cell that organizations move to, cell its settings and file where they are written.
	other *program.Installation
	cell  *program.Server
	file  string
	// newer and older are the programs of this release and of the one that the stage begins with. Once it is migrated,
	// the schema is that of this release.
	newer, older string
	migrated     bool

	orgs      []*org
	billing   *outside.Billing
	validator *outside.Validator
}

// newStage starts everything. Nothing is out of order yet.
func newStage(tb testing.TB, p profile) *stage {
	tb.Helper()
	s := &stage{
		profile: p, ground: postgres.NewGround(tb), billing: outside.NewBilling(billingSecret), migrated: !p.mixed,
	}
	s.pair = postgres.StartPair(tb, "ALTER SYSTEM SET track_commit_timestamp = on",
		"ALTER SYSTEM SET log_line_prefix = '%m [%p] %e '", "ALTER SYSTEM SET log_min_messages = 'error'",
		"ALTER SYSTEM SET log_min_error_statement = 'error'", "CREATE DATABASE other")
	s.newer = os.Getenv(programVariable)
	if s.older = s.newer; p.mixed {
		s.older = program.Previous(tb)
	}
	queue := "redis://:chaos@" + coretest.FreeAddress(tb) + "/"
	s.killRedis = coretest.StartRedis(tb, queue+"0")
	listener := httptest.NewServer(s.billing)
	tb.Cleanup(listener.Close)
	s.Installation = s.install(tb, "app", queue+"0", "SV_BILLING_URL="+listener.URL,
		"SV_BILLING_SECRET="+billingSecret, programVariable+"="+s.older)
	s.other = s.install(tb, "other", queue+"1")
	s.file = filepath.Join(tb.TempDir(), "other.env")
	if err := os.WriteFile(s.file, []byte(strings.Join(s.other.Settings, "\n")+"\n"), 0o600); err != nil {
		tb.Fatal(err)
	}
	for _, args := range [][]string{nil, {"--only", "web"}, {"--only", "worker,scheduler"}} {
		s.hosts = append(s.hosts, s.newHost(tb, args))
	}
	s.cell = program.Serve(quiet{tb}, s.other.Settings)
	s.said = append(s.said, s.cell)
	s.enroll(tb, p.quota)
	for _, h := range s.hosts {
		h.idle = h.Metric(tb, "go_goroutines")
	}
	return s
}

// install makes an installation in one of the databases of the pair.
func (s *stage) install(tb testing.TB, database, queue string, settings ...string) *program.Installation {
	tb.Helper()
	address := "postgres://app@" + s.road(tb).Address() + "/" + database + "?sslmode=disable"
	i := program.InstallOn(quiet{tb}, address, queue, append([]string{
		"DATABASE_URL=" + address + "&application_name=" + database, "SV_EXTERNAL_ALLOW=127.0.0.0/8",
		"SV_WEBHOOK_TIMEOUT=1s", "SV_WEBHOOK_RETRIES=" + strings.Repeat("500ms,", 60) + "1s",
		"SV_IDEMPOTENCY_TTL=" + lifetime.String(), "SV_PURGE_SCHEDULE=@every 1s", "SV_RUN_LEASE=" + lease.String(),
		"SV_KEY_LOCK=1s", "SV_COMPLETE_INTERVAL=300ms", "SV_DB_STATEMENT_TIMEOUT=5s",
		"SV_DB_IDLE_TIMEOUT=3s", "SV_COMMIT_TIMEOUT=5s", "SV_MOVE_REST=0s",
		"SV_CELL=" + database,
		// Months go by.
		"SV_CONTENT_RETENTION=876000h", "SV_FINDINGS_RETENTION=876000h",
	}, settings...)...)
	s.execute(tb, i.DB, journal)
	return i
}

// road makes another way to the primary.
func (s *stage) road(tb testing.TB) *program.Link {
	tb.Helper()
	l := program.NewLink(tb, "unix", s.pair.Socket(tb))
	s.roads = append(s.roads, l)
	return l
}

func (s *stage) execute(tb testing.TB, database *db.DB, statement string) {
	tb.Helper()
	if _, err := database.Pool.Exec(tb.Context(), statement, pgx.QueryExecModeSimpleProtocol); err != nil {
		tb.Fatalf("%s: %v", statement, err)
	}
}

func (s *stage) newHost(tb testing.TB, args []string) *host {
	tb.Helper()
	h := &host{name: strings.Join(append([]string{"serve"}, args...), " ")}
	h.base = s.road(tb)
	through := func(l *program.Link) string {
		return fmt.Sprintf("postgres://app@%s/app?sslmode=disable&application_name=host-%d", l.Address(), len(s.hosts))
	}
	h.settings = slices.Clip(s.Settings)
	if len(s.hosts) == pooled {
		h.settings = append(h.settings, "DATABASE_DIRECT_URL="+through(h.base))
		address, err := url.Parse(program.PgBouncer(quiet{tb}, through(h.base)))
		if err != nil {
			tb.Fatalf("read the address of PgBouncer: %v", err)
		}
		h.base = program.NewLink(tb, "tcp", address.Host)
	}
	h.proxy = pgproxy.Start(tb, through(h.base))
	queue, err := redis.ParseURL(s.Redis)
	if err != nil {
		tb.Fatalf("read the address of Redis: %v", err)
	}
	h.queue = program.NewLink(tb, "tcp", queue.Addr)
	h.settings = append(h.settings, "DATABASE_URL="+h.proxy.URL(),
		"REDIS_URL="+strings.Replace(s.Redis, queue.Addr, h.queue.Address(), 1))
	h.Server = program.Serve(quiet{tb}, h.settings, args...)
	s.said = append(s.said, h.Server)
	h.front = program.NewLink(tb, "tcp", strings.TrimPrefix(h.URL(), "http://"))
	return h
}

// enroll makes the organizations, each with a webhook: those that stay, and then those that may leave.
func (s *stage) enroll(tb testing.TB, quota int) {
	tb.Helper()
	for n := range organizations + s.profile.leaving {
		o := &org{
			Tenant:   s.Enroll(quiet{tb}, s.hosts[0].URL(), "canary-"+strconv.Itoa(n)),
			workflow: "building",
		}
		o.told = program.Listen(tb, s.hosts[0].URL(), o.Tokens.Owner)
		s.orgs = append(s.orgs, o)
		runs := "1000000"
		switch {
		case n == organizations-1:
			s.validate(tb, o, program.NewClient(tb, o.Tokens.Owner))
			runs = strconv.Itoa(quota / 4)
			program.Execute(quiet{tb}, s.Settings, "", "org", "set", o.Slug, "--overage")
		case n >= organizations-1-scarce && n < organizations:
			runs = strconv.Itoa(quota)
		}
		program.Execute(quiet{tb}, s.Settings, "", "org", "set", o.Slug, "--runs", runs)
	}
}

// payer is the organization that pays for what is beyond its quota and has a validator of its own.
func (s *stage) payer() *org { return s.orgs[organizations-1] }

// validate gives an organization a workflow whose second step is a call of an external validator.
func (s *stage) validate(tb testing.TB, o *org, owner *program.Client) {
	tb.Helper()
	// The secret follows from the address, so the address is there first.
	listener := httptest.NewUnstartedServer(nil)
	command := []string{"signing-secret"}
	if !s.migrated {
		command = append(command, "show") // As the previous release names it.
	}
	secret := program.Execute(quiet{tb}, s.Settings, "", append(command, "--org", o.Slug,
		"--validator", "http://"+listener.Listener.Addr().String())...)
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
	h := &requests.History{
		HTTP: &http.Transport{MaxIdleConnsPerHost: 200}, Cell: strings.TrimPrefix(s.cell.URL(), "http://"),
	}
	tb.Cleanup(h.HTTP.CloseIdleConnections)
	for _, front := range s.fronts() {
		h.Fronts = append(h.Fronts, front.front.Address())
	}
	for _, o := range s.orgs {
		made, err := client.New("http://service.example", client.WithToken(o.Tokens.Owner),
			client.WithHTTPClient(&http.Client{Transport: h}))
		if err != nil {
			tb.Fatal(err)
		}
		o.client = made
	}
	return &crowd{stage: s, history: h, stop: make(chan struct{}), acts: make(map[string]int)}
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
	program.Await(tb, "the other cell is ready", func() bool {
		if s.cell.HasEnded() {
			s.cell = s.cell.Relaunch(quiet{tb}, s.other.Settings)
			s.said = append(s.said, s.cell)
		}
		return s.cell.Ready(tb.Context())
	})
	for _, h := range s.hosts {
		if s.profile.mixed { // The update ends: the previous release does not know all work of this one.
			h.settings = append(h.settings, programVariable+"="+s.newer)
			h.Kill()
		}
		program.Await(tb, h.name+" is ready", func() bool {
			s.revive(tb)
			return h.Ready(tb.Context())
		})
	}
}
