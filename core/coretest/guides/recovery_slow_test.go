//go:build slow && linux

package guides

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

// TestRecoveryToAPointInTime backs a running installation up with the scripts of config/deploy/backup, and restores it
// to a time after the backup as a drill does. The restored database has the runs up to that time with their keys and
// their charges, and the drill names those that clients were told of later.
func TestRecoveryToAPointInTime(t *testing.T) {
	t.Parallel()
	const password = "admin-password"
	o := newOperator(t)
	archive := o.folder(t, "wal")
	for _, script := range []string{"archive-wal", "base-backup", "restore-drill"} {
		o.place(t, script, program.Deployed(t, "backup/"+script))
	}
	content, err := os.ReadFile(os.Getenv("TEST_PROGRAM"))
	if err != nil {
		t.Fatal(err)
	}
	o.place(t, "simplevalidations", string(content))
	// The drill does not share the settings that are those of the installation.
	address := o.startPostgres(t, password, program.Deployed(t, "backup/postgresql.conf",
		"/usr/local/lib/simplevalidations/archive-wal", filepath.Join(o.home, "archive-wal"),
		"/var/backups/simplevalidations/wal", archive)+
		"\nport = 24432\nmax_connections = 150\nlogging_collector = on\n")
	at := func(database string) string {
		return (&url.URL{
			Scheme: "postgres", Host: address, User: url.UserPassword("postgres", password), Path: "/" + database,
		}).String()
	}
	o.awaitPostgres(t, at("postgres"))
	ask(t, at("postgres"), "CREATE DATABASE simplevalidations")

	database := at("simplevalidations")
	i := program.InstallOn(t, database, coretest.Redis(t), "DATABASE_URL="+database, "SV_LOG_FORMAT=json",
		"SV_LOG_LEVEL=info")
	server := program.Serve(t, i.Settings)
	client := program.NewClient(t, i.Harbour.Tokens.Executor)
	start := func(phase string) []string {
		var runs []string
		for n := range 5 {
			answer := client.Start(t, server.URL(), program.Building(t, fmt.Sprintf("%s-%d", phase, n)))
			program.WantCreated(t, answer)
			runs = append(runs, answer.Run(t).String())
		}
		return runs
	}
	start("before-the-backup")
	backup := strings.TrimSpace(o.must(t, []string{
		"PGHOST=127.0.0.1", "PGPORT=" + portOf(t, address), "PGUSER=postgres", "PGPASSWORD=" + password,
	}, "./base-backup", filepath.Join(o.home, "base")))
	kept := start("after-the-backup")
	point := ask(t, database, "SELECT clock_timestamp()::text")
	lost := start("after-the-point")
	segment := ask(t, database, "SELECT pg_walfile_name(pg_switch_wal())")
	program.Await(t, "the log is archived", func() bool {
		_, err := os.Stat(filepath.Join(archive, segment))
		return err == nil
	})
	log := o.place(t, "web.log", server.Stderr())

	const used = `SELECT 'used ' || sum(used) FROM usage_counters` +
		` UNION ALL SELECT 'keys ' || count(*) FROM idempotency_keys`
	environ := []string{
		"TMPDIR=" + o.folder(t, "tmp"), "DRILL_COMMAND=psql -Atc \"" + used + "\"", "PGHOSTADDR=127.0.0.1",
		"SV_SECRET_KEY_FILE=/nowhere/secret-key", "REDIS_URL_FILE=/nowhere/redis-url",
	}
	said := o.must(t, environ, "./restore-drill", backup, archive, point, log)
	for _, want := range []string{
		"restored to 2", "\n10 runs, the last of ", " applied, 0 pending\n", "\nused 10\nkeys 10\n",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("the drill says\n%s, want %q", said, want)
		}
	}
	for _, run := range lost {
		if strings.Count(said, run) != 1 {
			t.Errorf("the drill says\n%s, want %s once", said, run)
		}
	}
	for _, run := range kept {
		if strings.Contains(said, run) {
			t.Errorf("the drill says\n%s, want nothing of %s, which is there", said, run)
		}
	}
	if left, err := os.ReadDir(filepath.Join(o.home, "tmp")); err != nil || len(left) > 0 {
		t.Errorf("the drill leaves %v, %v", left, err)
	}

	// The drill takes the time that it prints.
	_, reached, _ := strings.Cut(said, "restored to ")
	reached, _, _ = strings.Cut(reached, "\n")
	again := o.must(t, environ, "./restore-drill", backup, archive, reached)
	if !strings.Contains(again, " runs, ") {
		t.Errorf("the drill to %s says\n%s", reached, again)
	}
	// It ends where it cannot read the result.
	cmd := o.command("./restore-drill", backup, archive, "latest")
	cmd.Env = append(cmd.Env, "PATH="+o.home+":"+o.path, "DRILL_USER=stranger")
	if output, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(output), "stranger") {
		t.Errorf("the drill as a user who is not there: %v\n%s", err, output)
	}

	// A segment of the same name and other content is not replaced.
	other := o.place(t, "other-segment", "other")
	replace := o.command("./archive-wal", other, segment, archive)
	if err := replace.Run(); err == nil {
		t.Error("archive-wal replaces a segment by another one")
	}
}

// folder makes a folder at home.
func (o *operator) folder(tb testing.TB, name string) string {
	tb.Helper()
	path := filepath.Join(o.home, name)
	if err := os.Mkdir(path, 0o700); err != nil {
		tb.Fatal(err)
	}
	o.own(tb, path)
	return path
}

// place writes a file at home that the user can execute.
func (o *operator) place(tb testing.TB, name, content string) string {
	tb.Helper()
	path := filepath.Join(o.home, name)
	if err := os.WriteFile(path, []byte(content), 0o700); err != nil {
		tb.Fatal(err)
	}
	o.own(tb, path)
	return path
}

// must runs a command with more variables, which has to succeed, and returns what it prints.
func (o *operator) must(tb testing.TB, environ []string, name string, args ...string) string {
	tb.Helper()
	cmd := o.command(name, args...)
	cmd.Env = append(cmd.Env, environ...)
	cmd.Env = append(cmd.Env, "PATH="+o.home+":"+o.path)
	output, err := cmd.CombinedOutput()
	if err != nil {
		tb.Fatalf("%s: %v\n%s", name, err, output)
	}
	return string(output)
}

// awaitPostgres waits until the server lets users in.
func (o *operator) awaitPostgres(tb testing.TB, database string) {
	tb.Helper()
	program.Await(tb, "PostgreSQL lets users in", func() bool {
		conn, err := pgx.Connect(tb.Context(), database)
		return err == nil && conn.Close(tb.Context()) == nil
	})
}

// ask executes a statement and returns its value, if it has one.
func ask(tb testing.TB, database, statement string) string {
	tb.Helper()
	conn, err := pgx.Connect(tb.Context(), database)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = conn.Close(tb.Context()) }() // Nothing is left to say.
	rows, err := conn.Query(tb.Context(), statement)
	if err != nil {
		tb.Fatal(err)
	}
	values, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		tb.Fatalf("%s: %v", statement, err)
	}
	return strings.Join(values, "")
}
