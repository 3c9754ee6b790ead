package chaos

import (
	"context"
	"crypto/rand"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

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

// TestListenAfterKills kills the command that forwards events again and again while they happen: the program behind it
// gets each of them, and at most the one twice that it was about to get.
func TestListenAfterKills(t *testing.T) {
	t.Parallel()
	const kills, each = 5, 20
	i := program.Install(t)
	server := program.Serve(t, i.Settings)
	program.Change(t, i.DB, `UPDATE organizations SET event_log = true`)
	var mu sync.Mutex
	got := make(map[string]int)
	forwarded := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(got)
	}
	behind := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		got[r.Header.Get("Webhook-Id")]++
	}))
	t.Cleanup(behind.Close)
	state := filepath.Join(t.TempDir(), "last")
	listen := func() *program.Process {
		return program.Launch(t, []string{"SV_URL=" + server.URL(), "SV_TOKEN=" + i.Harbour.Tokens.Viewer}, "",
			"webhooks", "listen", "--state", state, "--forward-to", behind.URL)
	}
	p := listen()
	program.Await(t, "the command has begun", func() bool {
		_, err := os.Stat(state)
		return err == nil
	})
	for kill := range kills {
		program.Change(t, i.DB, `
			SELECT note_event(id, 'key.abandoned', NULL::uuid, NULL, json_build_object('url', '/api/x'))
			FROM organizations, generate_series(1, $1) WHERE slug = 'harbour-energy'`, each)
		program.Await(t, "events are forwarded", func() bool { return forwarded() > each*kill })
		p.Kill()
		p = listen()
	}
	program.Await(t, "all events are forwarded", func() bool { return forwarded() == kills*each })
	mu.Lock()
	defer mu.Unlock()
	again := -len(got)
	for _, times := range got {
		again += times
	}
	if again > kills {
		t.Errorf("%d events came again, want at most one for each of %d kills", again, kills)
	}
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
	before := program.Execute(t, settings, "", "migrate", "up", "--dry-run")
	wantSaid(t, before, "-- pending 00001_users.sql")
	if strings.Contains(before, "-- applied ") {
		t.Errorf("plan of an empty database = %s, want nothing applied", before)
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
	after := program.Execute(t, settings, "", "migrate", "up", "--dry-run")
	if strings.Contains(after, "-- pending ") ||
		strings.Count(after, "-- applied ") != strings.Count(before, "-- pending ") {
		t.Errorf("plan = %s, want each of these applied: %s", after, before)
	}
	program.Seed(t, settings)
}

func TestAccountCommandsRefuseWhatIsWrong(t *testing.T) {
	t.Parallel()
	i := program.Install(t)
	for _, args := range [][]string{
		{"user", "create", "short@harbour-energy.example", "--password-stdin"},
		{"org", "create", "harbour-energy"},
		{"org", "create", "Not a slug"},
		{"org", "set", "no-such-org", "--runs", "4"},
		{"org", "set", "harbour-energy", "--runs", "many"},
		{"admin", "token", "create", "--org", "harbour-energy", "--user", "nobody@harbour-energy.example"},
	} {
		p := program.Launch(t, i.Settings, "short\n", args...)
		if got := p.ExitCode(t); got == 0 || p.Stderr() == "" {
			t.Errorf("exit code of %v = %d saying %q, want a refusal", args, got, p.Stderr())
		}
	}
}
