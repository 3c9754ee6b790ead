package embedded

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// ownerDir makes the test binary an owner of the cluster in that folder, which a test can then kill.
const ownerDir = "EMBEDDED_TEST_OWNER_DIR"

// endPatience is far above what anything here takes, so that only what hangs fails.
const endPatience = 3 * time.Minute

func TestMain(m *testing.M) {
	if dir := os.Getenv(ownerDir); dir != "" {
		os.Exit(own(context.Background(), dir))
	}
	os.Exit(m.Run())
}

// own runs the server until standard input ends.
func own(ctx context.Context, dir string) int {
	server, err := StartPostgres(ctx, PostgresConfig{Dir: dir, Durable: true, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Fprintln(os.Stdout, server.URL())
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return 1
	}
	if err := server.Stop(ctx); err != nil {
		return 1
	}
	return 0
}

// owner is another process that owns a cluster.
type owner struct {
	cmd *exec.Cmd
	out *bufio.Reader
}

func startOwner(tb testing.TB, dir string) *owner {
	tb.Helper()
	program, err := os.Executable()
	if err != nil {
		tb.Fatalf("find test binary: %v", err)
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), ownerDir+"="+dir)
	cmd.Stderr = tb.Output()
	if _, err := cmd.StdinPipe(); err != nil {
		tb.Fatalf("make pipe: %v", err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatalf("make pipe: %v", err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatalf("start owner: %v", err)
	}
	o := &owner{cmd: cmd, out: bufio.NewReader(stdout)}
	tb.Cleanup(o.kill)
	return o
}

// url waits until the owner's server answers.
func (o *owner) url(tb testing.TB) string {
	tb.Helper()
	line, err := o.out.ReadString('\n')
	if err != nil {
		tb.Fatalf("owner ended before its server answered: %v", err)
	}
	return strings.TrimSpace(line)
}

// kill ends the owner without a chance to clean up. Killing twice does nothing.
func (o *owner) kill() {
	if o.cmd.ProcessState == nil && o.cmd.Process.Kill() == nil {
		_ = o.cmd.Wait() // It was killed, so there is always an error.
	}
}

// newDir returns a folder that the server's user can reach. Those of t.TempDir are closed to others, which has a test
// of its own.
func newDir(tb testing.TB) string {
	tb.Helper()
	dir, err := os.MkdirTemp("/tmp", "embedded-") //nolint:usetesting // TempDir is closed to the server's user.
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
	return filepath.Join(dir, "postgres")
}

func config(tb testing.TB, dir string) PostgresConfig {
	tb.Helper()
	return PostgresConfig{Dir: dir, Durable: true, Log: slog.New(slog.NewTextHandler(tb.Output(), nil))}
}

// mustStart starts or joins the server of dir and stops it with the test.
func mustStart(tb testing.TB, dir string) *Postgres {
	tb.Helper()
	server, err := StartPostgres(tb.Context(), config(tb, dir))
	if err != nil {
		tb.Fatalf("start in %s: %v", dir, err)
	}
	tb.Cleanup(func() { mustStop(tb, server) })
	return server
}

func mustStop(tb testing.TB, server *Postgres) {
	tb.Helper()
	if err := server.Stop(context.WithoutCancel(tb.Context())); err != nil {
		tb.Fatalf("stop: %v", err)
	}
}

func remember(tb testing.TB, url, text string) {
	tb.Helper()
	conn := mustConnect(tb, url)
	const create = "CREATE TABLE IF NOT EXISTS memory (text text NOT NULL)"
	if _, err := conn.Exec(tb.Context(), create); err != nil {
		tb.Fatalf("create table: %v", err)
	}
	if _, err := conn.Exec(tb.Context(), "INSERT INTO memory VALUES ($1)", text); err != nil {
		tb.Fatalf("insert: %v", err)
	}
}

func wantRemembered(tb testing.TB, url, want string) {
	tb.Helper()
	var got string
	if err := mustConnect(tb, url).QueryRow(tb.Context(), "SELECT text FROM memory").Scan(&got); err != nil {
		tb.Fatalf("read what was remembered: %v", err)
	}
	if got != want {
		tb.Errorf("remembered %q, want %q", got, want)
	}
}

func mustConnect(tb testing.TB, url string) *pgx.Conn {
	tb.Helper()
	conn, err := pgx.Connect(tb.Context(), url)
	if err != nil {
		tb.Fatalf("connect to %s: %v", url, err)
	}
	// The server may be gone by then, and closing has nothing to tell a test.
	tb.Cleanup(func() { _ = conn.Close(context.WithoutCancel(tb.Context())) })
	return conn
}

// keepBusy leaves a session computing, which does not notice the death of its server, and returns what ends it.
func keepBusy(tb testing.TB, url string) func() {
	tb.Helper()
	file := newDir(tb) + ".end"
	end := func() {
		if err := os.WriteFile(file, []byte("ended"), 0o600); err != nil {
			tb.Errorf("end the busy session: %v", err)
		}
	}
	busy, done := mustConnect(tb, url), make(chan struct{})
	go func() {
		defer close(done)
		// The server is killed meanwhile, so there may be an error. A killed test leaves nobody who ends the session.
		_, _ = busy.Exec(context.WithoutCancel(tb.Context()), `DO $$ BEGIN
			WHILE (pg_stat_file('`+file+`', true)).size IS NULL AND clock_timestamp() < now() + interval '3 min' LOOP
			END LOOP;
		END $$`)
	}()
	tb.Cleanup(func() {
		end()
		<-done
	})
	watcher := mustConnect(tb, url)
	const active = "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE query LIKE '%pg_stat_file%' " +
		"AND state = 'active' AND pid <> pg_backend_pid())"
	eventually(tb, "no session is busy", func() bool {
		var found bool
		return watcher.QueryRow(tb.Context(), active).Scan(&found) == nil && found
	})
	return end
}

// eventually waits until the answer is yes.
func eventually(tb testing.TB, otherwise string, ask func() bool) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), endPatience)
	defer cancel()
	if !poll(ctx, ask) {
		tb.Fatal(otherwise)
	}
}

func serverPID(tb testing.TB, dir string) int {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join(dataIn(dir), "postmaster.pid"))
	if err != nil {
		tb.Fatalf("read pid file: %v", err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil {
		tb.Fatalf("pid file begins with %q: %v", first, err)
	}
	return pid
}

// startOrphan runs the server of dir as a child that no launcher knows and that does not die with anybody.
func startOrphan(tb testing.TB, dir string) *exec.Cmd {
	tb.Helper()
	bin, err := findBinaries("")
	if err != nil {
		tb.Fatalf("find binaries: %v", err)
	}
	who, err := accountFor(dataIn(dir))
	if err != nil {
		tb.Fatalf("find user: %v", err)
	}
	c := &cluster{bin: bin, dir: dir, who: who}
	c.run, err = makeSocketDir(tb.Context(), who, dir)
	if err != nil {
		tb.Fatalf("make socket folder: %v", err)
	}
	cmd := who.command(context.Background(), c.data(), filepath.Join(bin, "postgres"), c.args()...)
	if err := cmd.Start(); err != nil {
		tb.Fatalf("start orphan: %v", err)
	}
	tb.Cleanup(func() { _ = syscall.Kill(cmd.Process.Pid, syscall.SIGKILL) }) // It should be gone.
	ctx, cancel := context.WithTimeout(tb.Context(), endPatience)
	defer cancel()
	if !poll(ctx, func() bool { return ensureDatabase(ctx, address(c.run, "postgres")) == nil }) {
		tb.Fatalf("orphan in %s does not answer", dir)
	}
	return cmd
}
