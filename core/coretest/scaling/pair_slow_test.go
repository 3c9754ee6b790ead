//go:build slow

package scaling

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core/coretest/program"
	"github.com/simplevalidations/simplevalidations/core/embedded"
	"github.com/simplevalidations/simplevalidations/migrations"
)

// pair is a PostgreSQL and its synchronous standby.
type pair struct {
	primary, standby *embedded.Postgres
	dir              string
}

func newPair(tb testing.TB) *pair {
	tb.Helper()
	p := &pair{dir: openFolder(tb)}
	p.primary = p.start(tb, "primary")
	p.copyPrimary(tb)
	p.standby = p.start(tb, "standby")
	execute(tb, p.primary.URL(), "ALTER SYSTEM SET synchronous_standby_names = '*'")
	execute(tb, p.primary.URL(), "SELECT pg_reload_conf()")
	p.awaitStandby(tb)
	db, err := sql.Open("pgx", p.primary.URL())
	if err != nil {
		tb.Fatalf("open the primary: %v", err)
	}
	_, err = migrations.Up(tb.Context(), db, slog.New(slog.DiscardHandler))
	if err := errors.Join(err, db.Close()); err != nil {
		tb.Fatalf("migrate: %v", err)
	}
	return p
}

// start starts the server of a folder, which has data already or is given some.
func (p *pair) start(tb testing.TB, name string) *embedded.Postgres {
	tb.Helper()
	server, err := embedded.StartPostgres(tb.Context(), embedded.PostgresConfig{
		Dir: filepath.Join(p.dir, name), BinDir: os.Getenv("PG_BIN_DIR"), Durable: true, MaxConnections: 100,
		Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		tb.Fatalf("start the %s: %v", name, err)
	}
	tb.Cleanup(func() {
		if err := server.Stop(context.WithoutCancel(tb.Context())); err != nil {
			tb.Errorf("stop the %s: %v", name, err)
		}
	})
	return server
}

// copyPrimary makes the standby's data, which belong to the user of the primary's.
func (p *pair) copyPrimary(tb testing.TB) {
	tb.Helper()
	base := filepath.Join(p.dir, "standby")
	if err := os.Mkdir(base, 0o755); err != nil {
		tb.Fatalf("make a folder: %v", err)
	}
	data := filepath.Join(base, "data")
	copying := exec.CommandContext(tb.Context(), filepath.Join(p.primary.BinDir(), "pg_basebackup"),
		"-h", hostOf(tb, p.primary), "-U", "app", "-D", data, "-R", "-C", "-S", "standby", "--checkpoint=fast")
	if output, err := copying.CombinedOutput(); err != nil {
		tb.Fatalf("copy the primary: %v: %s", err, output)
	}
	found, err := os.Stat(filepath.Join(p.primary.Dir(), "data"))
	if err != nil {
		tb.Fatalf("find the primary's user: %v", err)
	}
	owner, ok := found.Sys().(*syscall.Stat_t)
	if !ok {
		tb.Fatal("the primary's data have no owner")
	}
	err = filepath.WalkDir(base, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, int(owner.Uid), int(owner.Gid))
	})
	if err != nil {
		tb.Fatalf("give the copy to the primary's user: %v", err)
	}
}

// url names both servers and asks for the one that can be written to.
func (p *pair) url(tb testing.TB) string {
	tb.Helper()
	query := url.Values{
		"host": {hostOf(tb, p.primary) + "," + hostOf(tb, p.standby)}, "port": {"5432,5432"}, "user": {"app"},
		"sslmode": {"disable"}, "target_session_attrs": {"read-write"},
	}
	return "postgres:///app?" + query.Encode()
}

// kill ends the primary and all its processes at once. Its main process is stopped first, so that it starts no others.
func (p *pair) kill(tb testing.TB) {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join(p.primary.Dir(), "data", "postmaster.pid"))
	if err != nil {
		tb.Fatalf("find the primary: %v", err)
	}
	first, _, _ := bytes.Cut(text, []byte("\n"))
	id, err := strconv.Atoi(string(first))
	if err != nil {
		tb.Fatalf("find the primary: %v", err)
	}
	if err := syscall.Kill(id, syscall.SIGSTOP); err != nil {
		tb.Fatalf("stop the primary: %v", err)
	}
	for _, process := range append(childrenOf(tb, id), id) {
		if err := syscall.Kill(process, syscall.SIGKILL); err != nil {
			tb.Fatalf("kill the primary: %v", err)
		}
	}
	<-p.primary.Done()
}

// promote makes the standby the primary.
func (p *pair) promote(tb testing.TB) {
	tb.Helper()
	execute(tb, p.standby.URL(), "SELECT pg_promote()")
}

// awaitStandby waits until commits wait for the standby and for nothing else.
func (p *pair) awaitStandby(tb testing.TB) {
	tb.Helper()
	conn, err := pgx.Connect(tb.Context(), p.primary.URL())
	if err != nil {
		tb.Fatalf("connect: %v", err)
	}
	defer conn.Close(tb.Context())
	program.Await(tb, "the standby is synchronous", func() bool {
		var synchronous bool
		const query = "SELECT EXISTS (SELECT FROM pg_stat_replication WHERE sync_state = 'sync')"
		return conn.QueryRow(tb.Context(), query).Scan(&synchronous) == nil && synchronous
	})
}

// restart ends the primary as an update does and starts it again.
func (p *pair) restart(tb testing.TB) {
	tb.Helper()
	if err := p.primary.Stop(tb.Context()); err != nil {
		tb.Fatalf("stop the primary: %v", err)
	}
	p.primary = p.start(tb, "primary")
	p.awaitStandby(tb)
}

// openFolder returns a folder that the user who runs PostgreSQL for root can reach, which tb.TempDir does not.
func openFolder(tb testing.TB) string {
	tb.Helper()
	dir, err := os.MkdirTemp("", "simplevalidations-pair-") //nolint:usetesting // its parent is closed to others
	if err != nil {
		tb.Fatalf("make folder: %v", err)
	}
	tb.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			tb.Errorf("remove folder: %v", err)
		}
	})
	if err := os.Chmod(dir, 0o755); err != nil {
		tb.Fatalf("open folder: %v", err)
	}
	return dir
}

// hostOf returns the folder of a server's socket.
func hostOf(tb testing.TB, server *embedded.Postgres) string {
	tb.Helper()
	config, err := pgx.ParseConfig(server.URL())
	if err != nil {
		tb.Fatalf("read the address of a server: %v", err)
	}
	return config.Host
}

func execute(tb testing.TB, address, statement string) {
	tb.Helper()
	conn, err := pgx.Connect(tb.Context(), address)
	if err != nil {
		tb.Fatalf("connect: %v", err)
	}
	if _, err := conn.Exec(tb.Context(), statement); err != nil {
		tb.Fatalf("%s: %v", statement, err)
	}
	if err := conn.Close(tb.Context()); err != nil {
		tb.Fatalf("disconnect: %v", err)
	}
}
