package chaos

import (
	"context"
	"crypto/rand"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/coretest"
)

// wantSaid demands that a process said all of the words.
func wantSaid(tb testing.TB, said string, words ...string) {
	tb.Helper()
	for _, word := range words {
		if !strings.Contains(said, word) {
			tb.Errorf("the program said %q, want %q in it", said, word)
		}
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()

	t.Run("AllThatIsWrongAtOnce", func(t *testing.T) {
		t.Parallel()
		said := refuse(t, []string{"SV_ADDR=nowhere", "SV_RUN_LEASE=soon", "SV_WORKERS=0", "SV_LOG_FORMAT=xml"},
			"config", "show")
		wantSaid(t, said, "SV_ADDR", "soon", "SV_WORKERS", "SV_LOG_FORMAT")
	})

	t.Run("WrongOnesKeepTheServerFromStarting", func(t *testing.T) {
		t.Parallel()
		working := briskly("DATABASE_URL="+coretest.DatabaseURL(t), "REDIS_URL="+coretest.Redis(t))
		for _, setting := range []string{"SV_WORKERS=0", "SV_PURGE_SCHEDULE=whenever", "REDIS_URL=http://127.0.0.1:1"} {
			name, _, _ := strings.Cut(setting, "=")
			settings := append(slices.Clip(working), setting)
			wantSaid(t, refuse(t, settings, "serve"), name)
		}
	})

	t.Run("UnknownOnesAreNamed", func(t *testing.T) {
		t.Parallel()
		p := launch(t, []string{"SV_WORKER=3"}, "", "config", "show")
		if got := p.exitCode(t); got != 0 {
			t.Errorf("exit code = %d, want 0", got)
		}
		wantSaid(t, p.stderr.String(), "SV_WORKER", "unknown")
	})

	t.Run("ShownWithoutSecrets", func(t *testing.T) {
		t.Parallel()
		said := execute(t, []string{
			"DATABASE_URL=postgres://someone:s3cret-one@db.example/app?password=s3cret-two",
			"REDIS_URL=redis://:s3cret-three@queue.example:6379/0", "SV_WORKERS=3",
		}, "", "config", "show")
		wantSaid(t, said, "db.example", "queue.example", "SV_WORKERS", "SV_IDEMPOTENCY_TTL", "24h")
		if strings.Contains(said, "s3cret") {
			t.Errorf("the settings are shown with a password: %s", said)
		}
	})

	t.Run("UnknownCommandsAndArguments", func(t *testing.T) {
		t.Parallel()
		for _, args := range [][]string{
			{"sevre"}, {"serve", "now"}, {"serve", "--only", "queue"}, {"serve", "--olny"}, {"seed"},
		} {
			wantSaid(t, refuse(t, nil, args...), "simplevalidations:")
		}
	})
}

// emptyDatabase returns the address of a database without a schema.
func emptyDatabase(tb testing.TB) string {
	tb.Helper()
	address, err := url.Parse(os.Getenv(coretest.DatabaseVariable))
	if err != nil {
		tb.Fatalf("read the address of the database: %v", err)
	}
	name := "empty_" + strings.ToLower(rand.Text())
	onServer(tb, "CREATE DATABASE "+name)
	tb.Cleanup(func() { onServer(tb, "DROP DATABASE "+name+" WITH (FORCE)") })
	address.Path = "/" + name
	return address.String()
}

func onServer(tb testing.TB, statement string) {
	tb.Helper()
	ctx := context.WithoutCancel(tb.Context())
	conn, err := pgx.Connect(ctx, os.Getenv(coretest.DatabaseVariable))
	if err != nil {
		tb.Fatalf("connect: %v", err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, statement); err != nil {
		tb.Fatalf("%s: %v", statement, err)
	}
}

func TestMigrate(t *testing.T) {
	t.Parallel()
	const migrators = 6
	settings := briskly("DATABASE_URL="+emptyDatabase(t), "SV_DB_MAX_CONNS=4")
	before := execute(t, settings, "", "migrate", "status")
	wantSaid(t, before, "pending", "00001_users.sql")
	if strings.Contains(before, "applied") {
		t.Errorf("status of an empty database = %s, want nothing applied", before)
	}
	all := make([]*process, migrators)
	for n := range all {
		all[n] = launch(t, settings, "", "migrate", "up")
	}
	for _, p := range all {
		if got := p.exitCode(t); got != 0 {
			t.Errorf("exit code of a migrator = %d, want 0", got)
		}
	}
	after := execute(t, settings, "", "migrate", "status")
	if strings.Contains(after, "pending") || strings.Count(after, "applied") != strings.Count(before, "pending") {
		t.Errorf("status = %s, want each of these applied: %s", after, before)
	}
	seed(t, settings)
}

func TestSeedTwice(t *testing.T) {
	t.Parallel()
	i := install(t)
	twice := seed(t, i.settings)
	again := twice.harbour
	if again.ID != i.harbour.ID || twice.tiny.ID != i.tiny.ID {
		t.Errorf("organizations = %s and %s, want %s and %s again", again.ID, twice.tiny.ID, i.harbour.ID, i.tiny.ID)
	}
	s := serve(t, i.settings)
	o := building(t, "seeded")
	first := newClient(t, i.harbour.Tokens.Executor).start(t, s.url(), o)
	wantCreated(t, first)
	wantReplay(t, newClient(t, again.Tokens.Executor).start(t, s.url(), o), first)
	wantProblem(t, newClient(t, again.Tokens.Viewer).start(t, s.url(), o),
		http.StatusForbidden, core.CodePermissionDenied)
	wantProblem(t, newClient(t, again.Tokens.Executor+"x").start(t, s.url(), o),
		http.StatusUnauthorized, core.CodeNotAuthenticated)
	checkAtRest(t, i.db)
}

func TestAccountCommands(t *testing.T) {
	t.Parallel()
	i := install(t)
	s := serve(t, i.settings)

	t.Run("ANewMemberStartsRuns", func(t *testing.T) {
		t.Parallel()
		execute(t, i.settings, "correct horse battery\n", "user", "create", "new@harbour-energy.example",
			"--name", "New", "--password-stdin", "--org", "harbour-energy", "--role", "executor")
		token := createToken(t, i, "harbour-energy", "new@harbour-energy.example")
		first := newClient(t, token).start(t, s.url(), building(t, "new-member"))
		wantCreated(t, first)
		wantReplay(t, newClient(t, i.harbour.Tokens.Owner).start(t, s.url(), building(t, "new-member")), first)
	})

	t.Run("ANewOrganizationSeesNothingOfOthers", func(t *testing.T) {
		t.Parallel()
		execute(t, i.settings, "", "org", "create", "new-org", "--name", "New organization", "--runs", "5")
		execute(t, i.settings, "", "user", "create", "owner@new-org.example", "--org", "new-org")
		c := newClient(t, createToken(t, i, "new-org", "owner@new-org.example"))
		wantProblem(t, c.start(t, s.url(), building(t, "new-org")), http.StatusNotFound, core.CodeNotFound)
		if a := c.get(t, s.url()+"/api/me/"); a.status != http.StatusOK {
			t.Errorf("answer = %d, want 200: %s", a.status, a.body)
		}
	})

	t.Run("WrongOnesAreRefused", func(t *testing.T) {
		t.Parallel()
		for _, args := range [][]string{
			{"user", "create", "short@harbour-energy.example", "--password-stdin"},
			{"org", "create", "harbour-energy"},
			{"org", "create", "Not a slug"},
			{"org", "set-quota", "no-such-org", "4"},
			{"org", "set-quota", "harbour-energy", "many"},
			{"token", "create", "--org", "harbour-energy", "--user", "nobody@harbour-energy.example"},
		} {
			p := launch(t, i.settings, "short\n", args...)
			if got := p.exitCode(t); got == 0 || p.stderr.String() == "" {
				t.Errorf("exit code of %v = %d saying %q, want a refusal", args, got, p.stderr.String())
			}
		}
	})
}

func createToken(tb testing.TB, i *installation, org, email string) string {
	tb.Helper()
	return strings.TrimSpace(execute(tb, i.settings, "", "token", "create", "--org", org, "--user", email))
}
