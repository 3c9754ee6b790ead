package main

import (
	"context"
	"crypto/rand"
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
	// secretKey is the same in all processes, and protects nothing.
	secretKey = "dGhlIGtleSBvZiB0aGUgdGVzdHMnIGluc3RhbGxhdCE="
)

// world is everything that is measured: the servers, and the organizations that start runs.
type world struct {
	dir      string
	lock     *embedded.Lock
	postgres *embedded.Postgres
	// service is a web server alone: workers would execute the runs on the processors that are measured.
	service *process
	// address is where the service listens.
	address     string
	redisServer *process
	redisURL    string
	redis       *redis.Client
	// busy says how much others asked of the machine before.
	busy    string
	db      *pgx.Conn
	tenants []tenant
}

// startWorld builds the service, starts all servers and fills the database. On an error nothing of it remains.
func startWorld(ctx context.Context, dir string, out io.Writer) (*world, error) {
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
		fmt.Fprintln(out, step.text)
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
		failures = append(failures, w.db.Close(ctx), w.redis.Close())
	}
	for _, p := range []*process{w.service, w.redisServer} {
		if p != nil {
			failures = append(failures, p.stop())
		}
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

// build also removes what a killed benchmark left behind.
func (w *world) build(ctx context.Context) error {
	if err := os.RemoveAll(w.dir); err != nil {
		return fmt.Errorf("empty folder: %w", err)
	}
	// PostgreSQL runs as another user when this program runs as root, and has to get through.
	if err := os.Mkdir(w.dir, 0o711); err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	output, err := exec.CommandContext(ctx, "go", "build",
		"-ldflags", "-X "+module+"/config.internals=environment", "-o", w.binary(), module).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, output)
	}
	return nil
}

func (w *world) binary() string { return filepath.Join(w.dir, "simplevalidations") }

func (w *world) startPostgres(ctx context.Context) error {
	var err error
	w.postgres, err = embedded.StartPostgres(ctx, embedded.PostgresConfig{
		Dir: filepath.Join(w.dir, "postgres"), BinDir: os.Getenv("PG_BIN_DIR"), Durable: true,
		MaxConnections: maxConnections, Log: slog.New(slog.DiscardHandler),
	})
	return err
}

func (w *world) startRedis(ctx context.Context) error {
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
	w.redisURL = "redis://:" + password + "@" + address + "/0"
	w.redis = redis.NewClient(&redis.Options{Addr: address, Password: password})
	cmd := exec.CommandContext(context.WithoutCancel(ctx), program, "--bind", "127.0.0.1", "--port", port,
		"--requirepass", password, "--dir", w.dir, "--save", "", "--maxmemory-policy", "noeviction")
	w.redisServer, err = startProcess(ctx, cmd, filepath.Join(w.dir, "redis.log"), func(ctx context.Context) bool {
		return w.redis.Ping(ctx).Err() == nil
	})
	return err
}

func (w *world) startService(ctx context.Context) error {
	var err error
	w.service, w.address, err = w.serve(ctx, "web")
	return err
}

// serve starts a process that plays one role of the service, or with "" all of them, and returns where it answers. The
// surroundings are passed on, so that settings can be tried; the variables come last and take precedence.
func (w *world) serve(ctx context.Context, role string, variables ...string) (*process, string, error) {
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, "", err
	}
	args, listen := []string{"serve"}, "SV_ADDR"
	if role != "" {
		args = append(args, "--only", role)
	}
	if role == "worker" {
		listen = "SV_METRICS_ADDR"
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), w.binary(), args...)
	cmd.Env = slices.Concat(os.Environ(), []string{
		"DATABASE_URL=" + w.postgres.URL(), "REDIS_URL=" + w.redisURL, listen + "=" + address,
		"SV_REQUESTS_PER_SECOND=0", "SV_ORG_REQUESTS_PER_SECOND=0", "SV_RUNS_PER_MINUTE=0", "SV_LOG_FORMAT=json",
		"SV_SECRET_KEY=" + secretKey,
	}, variables)
	server, err := startProcess(ctx, cmd, filepath.Join(w.dir, "serve"+role+".log"), func(ctx context.Context) bool {
		return coretest.Answers(ctx, "http://"+address+"/readyz/")
	})
	return server, address, err
}

// embedded are the variables of a process that has its own Redis.
func (w *world) embedded() []string {
	return []string{"REDIS_URL=", "SV_DATA_DIR=" + filepath.Join(w.dir, "data")}
}

// redisDatabase are the variables of processes that share one database of redis-server, and see no worker of another.
func (w *world) redisDatabase(number int) []string {
	return []string{"REDIS_URL=" + w.redisURL[:len(w.redisURL)-1] + strconv.Itoa(number)}
}

func (w *world) populate(ctx context.Context) error {
	var err error
	if w.db, err = pgx.Connect(ctx, w.postgres.URL()); err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	if err := seed(ctx, w.db); err != nil {
		return err
	}
	// A service that has run for a while has statistics of these. Plans for tables that are still empty would be worse.
	if _, err := w.db.Exec(ctx, `VACUUM ANALYZE organizations, users, memberships, api_tokens, definitions, workflows,
		workflow_versions`); err != nil {
		return fmt.Errorf("gather statistics: %w", err)
	}
	if w.tenants, err = newTenants(); err != nil {
		return err
	}
	return prime(ctx, w.address, w.tenants)
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

// describe names the machine and the versions in use, and how busy it was before, as far as that can be found out.
func (w *world) describe(ctx context.Context) string {
	version := "of unknown version"
	_ = w.db.QueryRow(ctx, "SELECT split_part(current_setting('server_version'), ' ', 1)").Scan(&version)
	return fmt.Sprintf("%d processors (%s/%s), %s, PostgreSQL %s, load average before %s", runtime.NumCPU(),
		runtime.GOOS, runtime.GOARCH, runtime.Version(), version, w.busy)
}

// loadAverage is of the minute before; where there is no /proc it is not known.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	minute, _, _ := strings.Cut(string(text), " ")
	return minute
}
