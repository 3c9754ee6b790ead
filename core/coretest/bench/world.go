package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/embedded"
)

const (
	// maxClients is far beyond what two processors can serve.
	maxClients = 512
	// maxConnections has room for as many clients of pgbench beside the service's pool.
	maxConnections = maxClients + 100
	lockName       = "bench.lock"
	// dataName is the one folder that is removed, as the folder around it is the user's choice.
	dataName       = "run"
	module         = "github.com/simplevalidations/simplevalidations"
	stopWorldLimit = 2 * time.Minute
)

// world is everything that is measured: the servers, and the organizations that start runs.
type world struct {
	dir         string
	lock        *embedded.Lock
	postgres    *embedded.Postgres
	service     *process
	redisServer *process
	redisURL    string
	redis       *redis.Client
	// busy says how much others asked of the machine before.
	busy string
	// address is where the service listens.
	address string
	db      *pgx.Conn
	tenants []tenant
	// sampleAnswer is an answer of the service, which pgbench stores as its own.
	sampleAnswer []byte
}

// startWorld builds the service, starts all servers and fills the database. On an error nothing of it remains.
func startWorld(ctx context.Context, dir string, show *progress) (*world, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("find folder: %w", err)
	}
	// Two benchmarks on one machine would measure each other, so there is one folder for all of them.
	lock, err := embedded.LockDir(dir, lockName)
	if errors.Is(err, embedded.ErrLocked) {
		return nil, fmt.Errorf("another benchmark uses %s", dir)
	}
	if err != nil {
		return nil, fmt.Errorf("lock folder: %w", err)
	}
	w := &world{dir: filepath.Join(dir, dataName), lock: lock, busy: loadAverage()}
	if err := makeEmpty(w.dir); err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	for _, step := range []struct {
		text string
		run  func(context.Context) error
	}{
		{"building the service", w.build},
		{"starting PostgreSQL", w.startPostgres},
		{"starting Redis", w.startRedis},
		{"starting the service", w.startService},
		{"making the organizations", w.populate},
		{"filling the write-ahead log", w.fillLog},
	} {
		show.say(step.text)
		if err := step.run(ctx); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", step.text, err), w.stop(ctx))
		}
	}
	return w, nil
}

// stop ends the servers in the opposite order and removes what they wrote. It works also when ctx has ended.
func (w *world) stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWorldLimit)
	defer cancel()
	var failures []error
	if w.db != nil {
		failures = append(failures, w.db.Close(ctx))
	}
	if w.service != nil {
		failures = append(failures, w.service.stop())
	}
	if w.redis != nil {
		failures = append(failures, w.redis.Close())
	}
	if w.redisServer != nil {
		failures = append(failures, w.redisServer.stop())
	}
	if w.postgres != nil {
		failures = append(failures, w.postgres.Stop(ctx), os.RemoveAll(w.postgres.Dir()))
	}
	return errors.Join(append(failures, os.RemoveAll(w.dir), w.lock.Unlock())...)
}

// settle forgets the jobs that nothing has executed, so that no measurement pays for the one before it.
func (w *world) settle(ctx context.Context) error {
	if _, err := w.db.Exec(ctx, "DELETE FROM staged_jobs"); err != nil {
		return fmt.Errorf("forget staged jobs: %w", err)
	}
	if err := w.redis.FlushDB(ctx).Err(); err != nil {
		return fmt.Errorf("empty Redis: %w", err)
	}
	return nil
}

func (w *world) binary() string { return filepath.Join(w.dir, "simplevalidations") }

func (w *world) build(ctx context.Context) error {
	output, err := exec.CommandContext(ctx, "go", "build", "-o", w.binary(), module).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, output)
	}
	return nil
}

func (w *world) startPostgres(ctx context.Context) error {
	server, err := embedded.StartPostgres(ctx, embedded.PostgresConfig{
		Dir: filepath.Join(w.dir, "postgres"), BinDir: os.Getenv("PG_BIN_DIR"), Durable: true,
		MaxConnections: maxConnections, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	w.postgres = server
	if _, err := os.Stat(w.pgbench()); err != nil {
		return fmt.Errorf("pgbench is missing beside postgres: %w", err)
	}
	return nil
}

func (w *world) pgbench() string { return filepath.Join(w.postgres.BinDir(), "pgbench") }

func (w *world) startRedis(ctx context.Context) error {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		return fmt.Errorf("install redis-server (Debian, Ubuntu) or redis (Fedora, macOS): %w", err)
	}
	address, err := freeAddress(ctx)
	if err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("split %s: %w", address, err)
	}
	password := rand.Text()
	server, err := startProcess(exec.CommandContext(context.WithoutCancel(ctx), program, "--bind", host,
		"--port", port, "--requirepass", password, "--dir", w.dir, "--save", "", "--maxmemory-policy", "noeviction"),
		filepath.Join(w.dir, "redis.log"))
	if err != nil {
		return err
	}
	w.redisServer, w.redisURL = server, "redis://:"+password+"@"+address+"/0"
	return server.await(ctx, func(ctx context.Context) bool {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		return err == nil && conn.Close() == nil
	})
}

// startService runs the web server alone: workers would execute the runs on the processors that are measured. The
// surroundings are passed on, so that settings can be tried.
func (w *world) startService(ctx context.Context) error {
	service, address, err := w.serve(ctx, "web")
	w.service, w.address = service, address
	return err
}

// secretKey is the same in all processes, and protects nothing.
const secretKey = "dGhlIGtleSBvZiB0aGUgdGVzdHMnIGluc3RhbGxhdCE="

// serve starts a process that plays one part of the service, or with "" all of them, and returns where it answers. The
// variables come after those that all processes get, and take precedence.
func (w *world) serve(ctx context.Context, part string, variables ...string) (*process, string, error) {
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, "", err
	}
	args, listen, name := []string{"serve"}, "SV_ADDR", "all"
	if part != "" {
		args, name = append(args, "--only", part), part
	}
	if part == "worker" {
		listen = "SV_METRICS_ADDR"
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), w.binary(), args...)
	cmd.Env = slices.Concat(os.Environ(), []string{
		"DATABASE_URL=" + w.postgres.URL(), "REDIS_URL=" + w.redisURL, listen + "=" + address,
		"SV_REQUESTS_PER_SECOND=0", "SV_ORG_REQUESTS_PER_SECOND=0", "SV_RUNS_PER_MINUTE=0", "SV_LOG_FORMAT=json",
		"SV_SECRET_KEY=" + secretKey,
	}, variables)
	server, err := startProcess(cmd, filepath.Join(w.dir, name+".log"))
	if err != nil {
		return nil, "", err
	}
	err = server.await(ctx, func(ctx context.Context) bool {
		return coretest.Answers(ctx, "http://"+address+"/readyz/")
	})
	if err != nil {
		return nil, "", errors.Join(err, server.stop())
	}
	return server, address, nil
}

func (w *world) populate(ctx context.Context) error {
	db, err := pgx.Connect(ctx, w.postgres.URL())
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	w.db = db
	target, err := redis.ParseURL(w.redisURL)
	if err != nil {
		return fmt.Errorf("read the Redis URL: %w", err)
	}
	w.redis = redis.NewClient(target)
	if err := seed(ctx, db); err != nil {
		return err
	}
	if err := analyzeSeeded(ctx, db); err != nil {
		return err
	}
	if w.tenants, err = newTenants(); err != nil {
		return err
	}
	w.sampleAnswer, err = prime(ctx, w.address, w.tenants)
	return err
}

// fillLog gives the server the files of its write-ahead log, as one that has run for a while has them: it takes those
// that it does not need any more. A new server makes one each second of a full load instead, and all commits wait.
func (w *world) fillLog(ctx context.Context) error {
	_, err := w.db.Exec(ctx, `DO $$ BEGIN
		FOR file IN 1..64 LOOP
			PERFORM pg_logical_emit_message(false, 'bench', 'begins the file');
			PERFORM pg_switch_wal();
		END LOOP;
	END $$`)
	if err != nil {
		return fmt.Errorf("write the log: %w", err)
	}
	if _, err := w.db.Exec(ctx, "CHECKPOINT"); err != nil {
		return fmt.Errorf("recycle the log: %w", err)
	}
	return nil
}

// describe names the versions in use, and how busy the machine was already, as far as that can be found out.
func (w *world) describe(ctx context.Context) string {
	var version string
	if err := w.db.QueryRow(ctx, "SHOW server_version").Scan(&version); err != nil {
		version = "of unknown version"
	}
	version, _, _ = strings.Cut(version, " ")
	return "PostgreSQL " + version + ", redis-server" + w.busy
}

// loadAverage is of the minute before; where there is no /proc it is not known.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	minute, _, _ := strings.Cut(string(text), " ")
	return ", load average before " + minute
}

// makeEmpty also removes what a killed benchmark left behind.
func makeEmpty(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("empty folder: %w", err)
	}
	// PostgreSQL runs as another user when this program runs as root, and has to get through.
	if err := os.Mkdir(dir, 0o711); err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	return nil
}

func freeAddress(ctx context.Context) (string, error) {
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	return listener.Addr().String(), listener.Close()
}
