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
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
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
		said := program.Refuse(t, []string{"SV_ADDR=nowhere", "SV_RUN_LEASE=soon", "SV_WORKERS=0", "SV_LOG_FORMAT=xml"},
			"config", "show")
		wantSaid(t, said, "SV_ADDR", "soon", "SV_WORKERS", "SV_LOG_FORMAT")
	})

	t.Run("WrongOnesKeepTheServerFromStarting", func(t *testing.T) {
		t.Parallel()
		working := program.Briskly("DATABASE_URL="+coretest.DatabaseURL(t), "REDIS_URL="+coretest.Redis(t))
		for _, setting := range []string{"SV_WORKERS=0", "SV_PURGE_SCHEDULE=whenever", "REDIS_URL=http://127.0.0.1:1"} {
			name, _, _ := strings.Cut(setting, "=")
			settings := append(slices.Clip(working), setting)
			wantSaid(t, program.Refuse(t, settings, "serve"), name)
		}
	})

	t.Run("UnknownOnesAreNamed", func(t *testing.T) {
		t.Parallel()
		p := program.Launch(t, []string{"SV_WORKER=3"}, "", "config", "show")
		if got := p.ExitCode(t); got != 0 {
			t.Errorf("exit code = %d, want 0", got)
		}
		wantSaid(t, p.Stderr(), "SV_WORKER", "unknown")
	})

	t.Run("ShownWithoutSecrets", func(t *testing.T) {
		t.Parallel()
		said := program.Execute(t, []string{
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
			wantSaid(t, program.Refuse(t, nil, args...), "simplevalidations:")
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
	settings := program.Briskly("DATABASE_URL="+emptyDatabase(t), "SV_DB_MAX_CONNS=4")
	before := program.Execute(t, settings, "", "migrate", "status")
	wantSaid(t, before, "pending", "00001_users.sql")
	if strings.Contains(before, "applied") {
		t.Errorf("status of an empty database = %s, want nothing applied", before)
	}
	all := make([]*program.Process, migrators)
	for n := range all {
		all[n] = program.Launch(t, settings, "", "migrate", "up")
	}
	told := 0
	for _, p := range all {
		if got := p.ExitCode(t); got != 0 {
			t.Errorf("exit code of a migrator = %d, want 0", got)
		}
		told += strings.Count(p.Stdout(), "applied 00001_users.sql")
	}
	if told == 0 {
		t.Error("no migrator says that it has applied the first migration")
	}
	after := program.Execute(t, settings, "", "migrate", "status")
	if strings.Contains(after, "pending") || strings.Count(after, "applied") != strings.Count(before, "pending") {
		t.Errorf("status = %s, want each of these applied: %s", after, before)
	}
	program.Seed(t, settings)
}

func TestSeedTwice(t *testing.T) {
	t.Parallel()
	i := program.Install(t)
	twice := program.Seed(t, i.Settings)
	again := twice.Harbour
	if again.ID != i.Harbour.ID || twice.Tiny.ID != i.Tiny.ID {
		t.Errorf("organizations = %s and %s, want %s and %s again", again.ID, twice.Tiny.ID, i.Harbour.ID, i.Tiny.ID)
	}
	s := program.Serve(t, i.Settings)
	o := program.Building(t, "seeded")
	first := program.NewClient(t, i.Harbour.Tokens.Executor).Start(t, s.URL(), o)
	program.WantCreated(t, first)
	program.WantReplay(t, program.NewClient(t, again.Tokens.Executor).Start(t, s.URL(), o), first)
	program.WantProblem(t, program.NewClient(t, again.Tokens.Viewer).Start(t, s.URL(), o),
		http.StatusForbidden, core.CodePermissionDenied)
	program.WantProblem(t, program.NewClient(t, again.Tokens.Executor+"x").Start(t, s.URL(), o),
		http.StatusUnauthorized, core.CodeNotAuthenticated)
	program.CheckAtRest(t, i.DB)
}

func TestAccountCommands(t *testing.T) {
	t.Parallel()
	i := program.Install(t)
	s := program.Serve(t, i.Settings)

	t.Run("ANewMemberStartsRuns", func(t *testing.T) {
		t.Parallel()
		program.Execute(t, i.Settings, "correct horse battery\n", "user", "create", "new@harbour-energy.example",
			"--name", "New", "--password-stdin", "--org", "harbour-energy", "--role", "executor")
		token := createToken(t, i, "harbour-energy", "new@harbour-energy.example")
		first := program.NewClient(t, token).Start(t, s.URL(), program.Building(t, "new-member"))
		program.WantCreated(t, first)
		owner := program.NewClient(t, i.Harbour.Tokens.Owner)
		program.WantReplay(t, owner.Start(t, s.URL(), program.Building(t, "new-member")), first)
	})

	t.Run("ANewOrganizationSeesNothingOfOthers", func(t *testing.T) {
		t.Parallel()
		program.Execute(t, i.Settings, "", "org", "create", "new-org", "--name", "New organization", "--runs", "5")
		program.Execute(t, i.Settings, "", "user", "create", "owner@new-org.example", "--org", "new-org")
		c := program.NewClient(t, createToken(t, i, "new-org", "owner@new-org.example"))
		program.WantProblem(t, c.Start(t, s.URL(), program.Building(t, "new-org")),
			http.StatusNotFound, core.CodeNotFound)
		if a := c.Get(t, s.URL()+"/api/me/"); a.Status != http.StatusOK {
			t.Errorf("answer = %d, want 200: %s", a.Status, a.Body)
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
			{"admin", "token", "create", "--org", "harbour-energy", "--user", "nobody@harbour-energy.example"},
		} {
			p := program.Launch(t, i.Settings, "short\n", args...)
			if got := p.ExitCode(t); got == 0 || p.Stderr() == "" {
				t.Errorf("exit code of %v = %d saying %q, want a refusal", args, got, p.Stderr())
			}
		}
	})
}

func createToken(tb testing.TB, i *program.Installation, org, email string) string {
	tb.Helper()
	return strings.TrimSpace(program.Execute(tb, i.Settings, "", "admin", "token", "create", "--org", org, "--user", email))
}
