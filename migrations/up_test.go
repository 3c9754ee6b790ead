package migrations_test

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3/lock"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/migrations"
)

// A backup holds a lock on every table until it ends. The migration that waits for it must not make others wait.
func TestApplyBesideALongReader(t *testing.T) {
	t.Parallel()

	address := coretest.DatabaseURL(t)
	db := open(t, address, nil)
	reader := connect(t, address)
	execute(t, reader, "BEGIN")
	execute(t, reader, "SELECT FROM organizations")

	gaveWay := make(chan struct{}, 100)
	applied := make(chan error, 1)
	go func() {
		_, err := migrations.Apply(t.Context(), db, withFile(t, "99999_added.sql",
			"-- +goose Up\nALTER TABLE organizations ADD COLUMN added int;\n"), slog.New(recorder{gaveWay}))
		applied <- err
	}()
	other := connect(t, address)
	execute(t, other, "SET lock_timeout = '20s'")
	for attempts := 0; attempts < 2; {
		execute(t, other, "SELECT access_tag FROM organizations")
		select {
		case <-gaveWay:
			attempts++
		case err := <-applied:
			t.Fatalf("Apply = %v while the reader holds the table", err)
		default:
		}
	}
	execute(t, reader, "COMMIT")
	if err := <-applied; err != nil {
		t.Fatalf("Apply = %v after the reader has ended", err)
	}
	execute(t, other, "SELECT added FROM organizations")
	var timeout string
	if err := db.QueryRowContext(t.Context(), "SHOW lock_timeout").Scan(&timeout); err != nil || timeout != "0" {
		t.Errorf("the connection's lock timeout is %q (%v), want it as it was", timeout, err)
	}
}

// What only reads neither waits for a migration nor takes its lock, which a pooler would leave in a session of others.
func TestReadingTheStateTakesNoLock(t *testing.T) {
	t.Parallel()
	address := coretest.DatabaseURL(t)
	db := open(t, address, nil)
	migrator := connect(t, address)
	execute(t, migrator, fmt.Sprintf("SELECT pg_advisory_lock(%d)", lock.DefaultLockID))
	// Whoever takes the lock waits for five minutes.
	ctx, stop := context.WithTimeout(t.Context(), 3*time.Minute)
	defer stop()
	if states, err := migrations.Status(ctx, db); err != nil || len(states) == 0 {
		t.Errorf("Status = %v, %v while another process migrates", states, err)
	}
	if pending, err := migrations.Pending(ctx, db); err != nil || len(pending) != 0 {
		t.Errorf("Pending = %v, %v while another process migrates, want none", pending, err)
	}
}

// Branches choose their numbers before they are merged, so a database that follows main can have later ones already.
func TestApplyOutOfOrder(t *testing.T) {
	t.Parallel()

	db := open(t, coretest.DatabaseURL(t), nil)
	applied, err := migrations.Apply(t.Context(), db, withFile(t, "00017_late.sql",
		"-- +goose Up\nALTER TABLE organizations ADD COLUMN late int;\n"), slog.New(slog.DiscardHandler))
	if err != nil || len(applied) != 1 || applied[0] != "00017_late.sql" {
		t.Fatalf("Apply = %v, %v beside later migrations, want the late one applied", applied, err)
	}
	if _, err := db.ExecContext(t.Context(), "SELECT late FROM organizations"); err != nil {
		t.Errorf("the migration has not been applied: %v", err)
	}
}

// An empty database takes all migrations, which a newcomer wants to read in one line.
func TestUpLogsOneLine(t *testing.T) {
	t.Parallel()
	db := open(t, coretest.EmptyDatabaseURL(t), nil)
	var text strings.Builder
	log := slog.New(slog.NewTextHandler(&text, nil))
	applied, err := migrations.Up(t.Context(), db, log)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := migrations.Up(t.Context(), db, log); err != nil {
		t.Fatal(err)
	}
	if got, want := text.String(), fmt.Sprintf("count=%d last=", len(applied)); strings.Count(got, "\n") != 1 ||
		!strings.Contains(got, want) {
		t.Errorf("logged %s, want one line with %s", got, want)
	}
}

// The migrator is killed behind every statement that it ever runs, and must then end with the same schema.
func TestUpAfterEveryKill(t *testing.T) {
	t.Parallel()

	address := coretest.EmptyDatabaseURL(t)
	killer := &killer{seen: make(map[string]bool)}
	db := open(t, address, killer)
	kills := 0
	for {
		killer.killed = false
		_, err := migrations.Up(t.Context(), db, slog.New(slog.DiscardHandler))
		if !killer.killed {
			if err != nil {
				t.Fatalf("Up = %v after %d kills, the last one behind %s", err, kills, killer.last)
			}
			break
		}
		kills++
	}
	const least = 50
	if kills < least {
		t.Errorf("killed %d times, want one for each of at least %d statements", kills, least)
	}
	want, got := schema(t, coretest.DatabaseURL(t)), schema(t, address)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the schema differs from that of an undisturbed migration (-want +got):\n%s", diff)
	}
}

// killer closes the connection behind each statement that it has not seen before.
type killer struct {
	seen   map[string]bool
	last   string
	killed bool
}

type statementKey struct{}

func (k *killer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	return context.WithValue(ctx, statementKey{}, data.SQL)
}

func (k *killer) TraceQueryEnd(ctx context.Context, conn *pgx.Conn, data pgx.TraceQueryEndData) {
	statement, _ := ctx.Value(statementKey{}).(string)
	if data.Err != nil || k.seen[statement] {
		return
	}
	k.seen[statement], k.last, k.killed = true, statement, true
	_ = conn.PgConn().Conn().Close()
}

// recorder tells of every record.
type recorder struct {
	records chan<- struct{}
}

func (recorder) Enabled(context.Context, slog.Level) bool { return true }

func (r recorder) Handle(context.Context, slog.Record) error {
	r.records <- struct{}{}
	return nil
}

func (r recorder) WithAttrs([]slog.Attr) slog.Handler { return r }

func (r recorder) WithGroup(string) slog.Handler { return r }

// schema lists what a database has, one line for each thing.
func schema(tb testing.TB, address string) []string {
	tb.Helper()
	const query = `
		SELECT format('column %s.%s %s %s default %s', table_name, column_name, data_type, is_nullable, column_default)
		FROM information_schema.columns WHERE table_schema = 'public'
		UNION ALL SELECT format('constraint %s on %s: %s, validated %s', conname, conrelid::regclass,
			pg_get_constraintdef(oid), convalidated) FROM pg_constraint WHERE connamespace = 'public'::regnamespace
		UNION ALL SELECT format('index %s: %s, valid %s', indexrelid::regclass, pg_get_indexdef(indexrelid), indisvalid)
		FROM pg_index WHERE indrelid IN (SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace)
		UNION ALL SELECT format('trigger %s', pg_get_triggerdef(oid)) FROM pg_trigger WHERE NOT tgisinternal
		UNION ALL SELECT format('function %s: %s', proname, prosrc) FROM pg_proc
		WHERE pronamespace = 'public'::regnamespace
		UNION ALL SELECT format('settings of %s: %s', relname, reloptions) FROM pg_class
		WHERE relnamespace = 'public'::regnamespace
		UNION ALL SELECT format('migration %s', version_id) FROM goose_db_version
		ORDER BY 1`
	rows, err := connect(tb, address).Query(tb.Context(), query)
	if err != nil {
		tb.Fatalf("read the schema: %v", err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		tb.Fatalf("read the schema: %v", err)
	}
	return lines
}

func withFile(tb testing.TB, name, text string) fs.FS {
	tb.Helper()
	files := fstest.MapFS{name: {Data: []byte(text)}}
	names, err := fs.Glob(migrations.FS, "*.sql")
	if err != nil {
		tb.Fatal(err)
	}
	for _, name := range names {
		data, err := migrations.FS.ReadFile(name)
		if err != nil {
			tb.Fatal(err)
		}
		files[name] = &fstest.MapFile{Data: data}
	}
	return files
}

func open(tb testing.TB, address string, tracer pgx.QueryTracer) *sql.DB {
	tb.Helper()
	config, err := pgx.ParseConfig(address)
	if err != nil {
		tb.Fatal(err)
	}
	config.Tracer = tracer
	db := stdlib.OpenDB(*config)
	tb.Cleanup(func() { _ = db.Close() })
	return db
}

func connect(tb testing.TB, address string) *pgx.Conn {
	tb.Helper()
	conn, err := pgx.Connect(tb.Context(), address)
	if err != nil {
		tb.Fatalf("connect: %v", err)
	}
	tb.Cleanup(func() { _ = conn.Close(context.WithoutCancel(tb.Context())) })
	return conn
}

func execute(tb testing.TB, conn *pgx.Conn, statement string) {
	tb.Helper()
	if _, err := conn.Exec(tb.Context(), statement); err != nil {
		tb.Fatalf("%s: %v", statement, err)
	}
}
