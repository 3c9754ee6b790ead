package program

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/coretest/outside"
	"github.com/simplevalidations/simplevalidations/core/db"
)

// Briskly are settings with which everything that is waited for happens soon. Later settings win over earlier ones.
func Briskly(settings ...string) []string {
	return append([]string{
		"SV_LOG_LEVEL=warn", "SV_DB_MAX_CONNS=8", "SV_DB_STATEMENT_TIMEOUT=30s", "SV_REQUESTS_PER_SECOND=0",
		"SV_ORG_REQUESTS_PER_SECOND=0", "SV_RUNS_PER_MINUTE=0", "SV_ENQUEUE_INTERVAL=50ms",
		"SV_RUN_LEASE=2s", "SV_RUN_SWEEP_AFTER=1s", "SV_SWEEP_INTERVAL=100ms", "SV_RUN_MAX_ATTEMPTS=1000",
		"SV_WEBHOOK_TIMEOUT=1s", "SV_WEBHOOK_RETRIES=100ms,100ms,100ms,1s,1s", "SV_SHUTDOWN_GRACE=10s",
		"SV_SECRET_KEY=dGhlIGtleSBvZiB0aGUgdGVzdHMnIGluc3RhbGxhdCE=",
	}, settings...)
}

// Tenant is an organization of the demonstration.
type Tenant struct {
	ID     uuid.UUID `json:"id"`
	Slug   string    `json:"slug"`
	Tokens struct {
		Owner    string `json:"owner"`
		Executor string `json:"executor"`
		Viewer   string `json:"viewer"`
	} `json:"tokens"`
}

// Demonstration is what is seeded: a large organization and one with a tiny quota.
type Demonstration struct {
	Harbour, Tiny Tenant
}

// Seed fills the database with the demonstration, or finds it there and makes new tokens.
func Seed(tb testing.TB, settings []string) Demonstration {
	tb.Helper()
	seeded, err := readSeeded([]byte(Execute(tb, settings, "", "seed", "--demo", "--json")))
	if err != nil {
		tb.Fatal(err)
	}
	return seeded
}

func readSeeded(output []byte) (Demonstration, error) {
	var seeded struct {
		Orgs []Tenant `json:"orgs"`
	}
	if err := json.Unmarshal(output, &seeded); err != nil {
		return Demonstration{}, fmt.Errorf("read what was seeded: %w", err)
	}
	if len(seeded.Orgs) != 2 {
		return Demonstration{}, fmt.Errorf("seeded organizations = %d, want 2", len(seeded.Orgs))
	}
	return Demonstration{Harbour: seeded.Orgs[0], Tiny: seeded.Orgs[1]}, nil
}

// seeded is a database with the demonstration, which Install copies: seeding starts a process, and hashes a password.
var seeded = coretest.NewTemplate(func(ctx context.Context, address string) (Demonstration, error) {
	cmd := exec.CommandContext(ctx, os.Getenv(pathVariable), "seed", "--demo", "--json")
	cmd.Env = append(surroundings(), append(Briskly(), "DATABASE_URL="+address)...)
	var complaint strings.Builder
	cmd.Stderr = &complaint
	output, err := cmd.Output()
	if err != nil {
		return Demonstration{}, fmt.Errorf("seed: %w\n%s", err, complaint.String())
	}
	return readSeeded(output)
})

// Installation is a database and a Redis that any number of processes share.
type Installation struct {
	Demonstration

	Settings []string
	DB       *db.DB
	// Redis is the address of the queue.
	Redis string
}

// Install makes an installation with the demonstration in it. The settings are added to the brisk ones.
func Install(tb testing.TB, settings ...string) *Installation {
	tb.Helper()
	address, demonstration := seeded.DatabaseURL(tb)
	reached := []string{"DATABASE_URL=" + address}
	if os.Getenv(PoolerVariable) != "" {
		reached = []string{"DATABASE_URL=" + PgBouncer(tb, address), "DATABASE_DIRECT_URL=" + address}
	}
	i := newInstallation(tb, address, coretest.Redis(tb), append(reached, settings...))
	i.Demonstration = demonstration
	return i
}

// InstallOn is Install on a database, which it migrates, and a Redis. The settings have to say how processes reach the
// database.
func InstallOn(tb testing.TB, database, queue string, settings ...string) *Installation {
	tb.Helper()
	i := newInstallation(tb, database, queue, settings)
	Execute(tb, i.Settings, "", "migrate", "up")
	i.Demonstration = Seed(tb, i.Settings)
	return i
}

func newInstallation(tb testing.TB, database, queue string, settings []string) *Installation {
	tb.Helper()
	return &Installation{
		Settings: append(Briskly("REDIS_URL="+queue), settings...),
		DB:       coretest.Connect(tb, database),
		Redis:    queue,
	}
}

// Reachable lets an installation call services on this machine.
const Reachable = "SV_EXTERNAL_ALLOW=127.0.0.0/8"

// Listen starts a receiver that a webhook of the organization of an owner's token tells of the ends of all runs from
// now on. The installation has to be Reachable.
func Listen(tb testing.TB, base, token string) *outside.Receiver {
	tb.Helper()
	// The address is there before the secret.
	listener := httptest.NewUnstartedServer(nil)
	request, err := http.NewRequestWithContext(tb.Context(), http.MethodPost, base+"/api/webhooks/", strings.NewReader(
		`{"url":"http://`+listener.Listener.Addr().String()+`","event_types":["run.completed","run.canceled"]}`))
	if err != nil {
		tb.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := NewClient(tb, token).Do(request)
	if err != nil || !answer.Created() {
		tb.Fatalf("webhook: %v, %d %s", err, answer.Status, answer.Body)
	}
	var made api.WebhookSecret
	if err := json.Unmarshal(answer.Body, &made); err != nil {
		tb.Fatal(err)
	}
	receiver, err := outside.NewReceiver(made.Secret)
	if err != nil {
		tb.Fatal(err)
	}
	listener.Config.Handler = receiver
	listener.Start()
	tb.Cleanup(listener.Close)
	return receiver
}

// Enroll makes an organization whose owner has all its tokens, and which has a workflow of its own for the order that
// Building makes.
func (i *Installation) Enroll(tb testing.TB, base, slug string) Tenant {
	tb.Helper()
	execute := func(args ...string) string {
		return strings.TrimSpace(Execute(tb, i.Settings, "", args...))
	}
	id, err := uuid.Parse(execute("org", "create", slug))
	if err != nil {
		tb.Fatalf("read the id of an organization: %v", err)
	}
	owner := "owner@" + slug + ".example"
	execute("user", "create", owner, "--org", slug, "--role", "owner")
	t := Tenant{ID: id, Slug: slug}
	t.Tokens.Owner = execute("admin", "token", "create", "--org", slug, "--user", owner, "--role", "owner")
	t.Tokens.Executor, t.Tokens.Viewer = t.Tokens.Owner, t.Tokens.Owner
	NewClient(tb, t.Tokens.Owner).Create(tb, base+"/api/workflows/",
		`{"slug":"building","name":"Building","is_active":true,"definition":{`+
			`"accepts":["application/json"],"steps":[{"id":"shape","name":"Shape","type":"json_schema",`+
			`"config":{"schema":{"type":"object"}}}]}}`)
	return t
}

// Cells are two installations of which the first has the organization that is moved, and the other one has never heard
// of it and its members.
type Cells struct {
	From, To *Installation
	// File has the settings of To.
	File string
}

// InstallCells makes the cells a and b. The settings are for both.
func InstallCells(tb testing.TB, settings ...string) Cells {
	tb.Helper()
	c := Cells{
		From: Install(tb, append(settings, "SV_CELL=a")...), To: Install(tb, append(settings, "SV_CELL=b")...),
		File: filepath.Join(tb.TempDir(), "cell.env"),
	}
	Execute(tb, c.To.Settings, "", "org", "set", c.To.Harbour.Slug, "--suspended", "--reason", "it is elsewhere")
	Execute(tb, c.To.Settings, "", "org", "delete", c.To.Harbour.Slug)
	Change(tb, c.To.DB, "DELETE FROM users WHERE id NOT IN (SELECT user_id FROM memberships)")
	text := "# The other cell.\n" + strings.Join(c.To.Settings, "\n") + "\n"
	if err := os.WriteFile(c.File, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	return c
}

// Move is the command that moves the organization.
func (c Cells) Move(flags ...string) []string {
	return append([]string{"org", "move", c.From.Harbour.Slug, "--to", c.File}, flags...)
}
