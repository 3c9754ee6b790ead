package main

import (
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"github.com/simplevalidations/simplevalidations/core/embedded"
)

const (
	// maxConnections has room for as many clients of pgbench beside the service's pool.
	maxConnections = maxClients + 100
	lockName       = "bench.lock"
	module         = "github.com/simplevalidations/simplevalidations"
	endLimit       = 2 * time.Minute
)

// bench is everything that is measured and what it is measured with.
type bench struct {
	samples

	options options
	log     io.Writer
	// dir is removed at the end, and the folder around it, which is the user's choice, is not.
	dir      string
	postgres *embedded.Postgres
	// address is that of PostgreSQL.
	address  string
	redisURL string
	redis    *redis.Client
	// settings are added to those of what is started.
	settings []string
	// pinned are the processors of what is measured; empty are all.
	pinned string
	db     *pgx.Conn
	meter  meter
	// starts is a web server alone: workers would execute the runs on the processors that are measured.
	starts service
	// results are in the order in which they were first measured.
	results []*result
	soaked  []soaked
	// ends stop and remove what was started.
	ends []func(context.Context) error
}

// run does the whole: start, measure, check, report, stop.
func (b *bench) run(ctx context.Context, stdout io.Writer) error {
	begun := time.Now()
	busy, _, _ := strings.Cut(readFile("/proc/loadavg"), " ")
	if err := b.start(ctx); err != nil {
		return errors.Join(err, b.end(ctx, 0))
	}
	err := b.measureAll(ctx)
	version := "of unknown version"
	_ = b.db.QueryRow(ctx, "SELECT split_part(current_setting('server_version'), ' ', 1)").Scan(&version)
	title := fmt.Sprintf("%s, %d processors (%s/%s), %s, PostgreSQL %s, load average before %s. %d rounds of %s each, "+
		"%s in all.", begun.Format(time.DateOnly), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version(),
		version, busy, b.options.rounds, b.options.duration, time.Since(begun).Round(time.Second))
	fmt.Fprintln(b.log, "stopping the servers and removing their data")
	err = errors.Join(err, b.end(ctx, 0))
	// What was measured before a part failed or was interrupted took long enough not to be lost.
	return errors.Join(err, report(stdout, title, b.results, b.soaked))
}

// measureAll runs the chosen parts, and checks all rows after each.
func (b *bench) measureAll(ctx context.Context) error {
	for _, p := range parts() {
		if len(b.options.only) > 0 && !slices.Contains(b.options.only, p.name) {
			continue
		}
		fmt.Fprintln(b.log, "next:", p.title)
		before := len(b.ends)
		err := b.reset(ctx)
		if err == nil {
			err = p.run(b, ctx)
		}
		if err = errors.Join(err, b.end(ctx, before)); err == nil {
			err = b.starts.check(ctx)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", p.title, err)
		}
	}
	return nil
}

// atEnd has something stopped or removed when the measurement or the part is over that has started it.
func (b *bench) atEnd(do func(context.Context) error) { b.ends = append(b.ends, do) }

// end stops and removes, in the opposite order, what was started after the first few. It works also when ctx has ended.
func (b *bench) end(ctx context.Context, first int) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endLimit)
	defer cancel()
	var failures []error
	for _, do := range slices.Backward(b.ends[first:]) {
		failures = append(failures, do(ctx))
	}
	b.ends = b.ends[:first]
	return errors.Join(failures...)
}

// start builds the service, starts all servers and fills the database.
func (b *bench) start(ctx context.Context) error {
	var err error
	if b.samples, err = readSamples(); err != nil {
		return err
	}
	dir, err := filepath.Abs(b.options.dir)
	if err != nil {
		return fmt.Errorf("find folder: %w", err)
	}
	// Two benchmarks on one machine would measure each other, so there is one folder for all of them.
	lock, err := embedded.LockDir(dir, lockName)
	if errors.Is(err, embedded.ErrLocked) {
		return fmt.Errorf("another benchmark uses %s", dir)
	}
	if err != nil {
		return fmt.Errorf("lock folder: %w", err)
	}
	b.dir = filepath.Join(dir, "run")
	b.atEnd(func(context.Context) error { return errors.Join(os.RemoveAll(b.dir), lock.Unlock()) })
	for _, step := range []struct {
		text string
		run  func(context.Context) error
	}{
		{"building the service", b.build},
		{"starting PostgreSQL", b.startPostgres},
		{"starting Redis", b.startRedis},
		{"starting the service", b.startStarts},
	} {
		fmt.Fprintln(b.log, step.text)
		if err := step.run(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.text, err)
		}
	}
	return nil
}

// build also removes what a killed benchmark left behind.
func (b *bench) build(ctx context.Context) error {
	// PostgreSQL runs as another user when this program runs as root, and has to get through.
	if err := errors.Join(os.RemoveAll(b.dir), os.Mkdir(b.dir, 0o711)); err != nil {
		return err
	}
	return b.goBuild(ctx, ".", "simplevalidations", "-ldflags", "-X "+module+"/config.internals=environment", module)
}

// goBuild builds a program of the module that is in a folder.
func (b *bench) goBuild(ctx context.Context, folder, name string, args ...string) error {
	args = append([]string{"build", "-C", folder, "-o", filepath.Join(b.dir, name)}, args...)
	cmd := exec.CommandContext(ctx, "go", args...)
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w: %s", name, err, output)
	}
	return nil
}

func (b *bench) startPostgres(ctx context.Context) error {
	server, err := embedded.StartPostgres(ctx, embedded.PostgresConfig{
		Dir: filepath.Join(b.dir, "postgres"), BinDir: os.Getenv("PG_BIN_DIR"), Durable: true,
		MaxConnections: maxConnections, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	b.postgres, b.address = server, server.URL()
	b.atEnd(func(ctx context.Context) error { return errors.Join(server.Stop(ctx), os.RemoveAll(server.Dir())) })
	first, _, _ := strings.Cut(readFile(filepath.Join(server.Dir(), "data", "postmaster.pid")), "\n")
	id, err := strconv.Atoi(first)
	b.meter[ofPostgres] = []int{id}
	return err
}

func (b *bench) startRedis(ctx context.Context) error {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		return fmt.Errorf("install redis-server (Debian, Ubuntu) or redis (Fedora, macOS): %w", err)
	}
	address, err := freeAddress(ctx)
	if err != nil {
		return err
	}
	_, port, _ := net.SplitHostPort(address)
	password := rand.Text()
	b.redisURL = "redis://:" + password + "@" + address + "/"
	b.redis = redis.NewClient(&redis.Options{Addr: address, Password: password})
	cmd := exec.CommandContext(context.WithoutCancel(ctx), program, "--bind", "127.0.0.1", "--port", port,
		"--requirepass", password, "--dir", b.dir, "--save", "", "--maxmemory-policy", "noeviction")
	err = b.startProcess(ctx, cmd, "redis.log", func(ctx context.Context) bool {
		return b.redis.Ping(ctx).Err() == nil
	})
	if err != nil {
		return err
	}
	b.atEnd(func(context.Context) error { return b.redis.Close() })
	b.meter[ofRedis] = []int{cmd.Process.Pid}
	return nil
}

//go:embed fill.sql
var fillScript string

// startStarts starts the web server alone and makes its organizations.
func (b *bench) startStarts(ctx context.Context) error {
	var err error
	if b.starts, err = b.serve(ctx, laneStarts, b.address, b.redisURL+"0", "web"); err != nil {
		return err
	}
	if b.db, err = b.connect(ctx, b.address); err != nil {
		return err
	}
	b.starts.db, b.starts.tenants = b.db, b.newTenants()
	if err := b.seed(ctx, b.db); err != nil {
		return err
	}
	if _, err := b.db.Exec(ctx, fillScript); err != nil {
		return fmt.Errorf("fill the write-ahead log: %w", err)
	}
	return analyze(ctx, b.db)
}

func (b *bench) connect(ctx context.Context, address string) (*pgx.Conn, error) {
	db, err := pgx.Connect(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	b.atEnd(db.Close)
	return db, nil
}

// clear ends the runs that nothing has executed and forgets their jobs, so that no measurement pays for the one before
// it. All services are frozen.
func (b *bench) clear(ctx context.Context) error {
	if _, err := b.db.Exec(ctx, `
		UPDATE validation_runs SET state = 'COMPLETED', result = 'CANCELED', ended_at = now(), epoch = epoch + 1,
			lease_until = NULL, sweep_after = NULL
		WHERE sweep_after IS NOT NULL;
		DELETE FROM staged_jobs`); err != nil {
		return fmt.Errorf("cancel runs: %w", err)
	}
	if err := b.redis.FlushDB(ctx).Err(); err != nil {
		return fmt.Errorf("empty Redis: %w", err)
	}
	return nil
}

// reset empties the tables that starts write and makes the first runs anew. The statistics are those of the few rows,
// as plans that were made for a table without rows stay until the next ones.
func (b *bench) reset(ctx context.Context) error {
	if _, err := b.db.Exec(ctx, `TRUNCATE idempotency_keys, validation_runs, submissions, staged_jobs, audit_records,
		usage_counters, key_activity, request_log CASCADE`); err != nil {
		return fmt.Errorf("empty tables: %w", err)
	}
	b.starts.purges = false
	for _, t := range b.starts.tenants {
		t.acknowledged.Store(0)
	}
	if err := b.starts.prime(ctx); err != nil {
		return err
	}
	if err := b.clear(ctx); err != nil {
		return err
	}
	return analyze(ctx, b.db)
}

// analyze does what the server would do by itself within minutes.
func analyze(ctx context.Context, db *pgx.Conn) error {
	for _, statement := range []string{"VACUUM ANALYZE", "CHECKPOINT"} {
		if _, err := db.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

// readFile returns what the file says, or why it cannot be read.
func readFile(name string) string {
	text, err := os.ReadFile(name)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(text))
}
