package embedded

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// appName is that of the database and of the role that owns it.
	appName = "app"
	// startPatience is how long a start is repeated while backends of a killed server still hold its memory.
	startPatience = 5 * time.Second
	// connectPatience bounds one attempt to connect, so that further attempts follow when the server is stuck.
	connectPatience = 5 * time.Second
	logTail         = 2048
	// unfinished begins the names of folders in which initdb is at work, or was when it was killed.
	unfinished = "init-"
)

// cluster is a folder with the data of one server, its binaries and its user.
type cluster struct {
	cfg PostgresConfig
	bin string
	dir string
	run string // the folder of the socket
	who account
}

func (c *cluster) data() string { return dataIn(c.dir) }

func (c *cluster) logFile() string { return filepath.Join(c.dir, "postgres.log") }

// prepare brings the folder to where a server can start in it, whatever the last owner left behind.
func (c *cluster) prepare(ctx context.Context) error {
	if err := checkVersion(ctx, c.who, c.bin, c.data()); err != nil {
		return err
	}
	if err := c.removeUnfinished(); err != nil {
		return err
	}
	if !exists(c.data()) {
		if err := c.create(ctx); err != nil {
			return err
		}
	}
	if err := clearStale(ctx, c.data()); err != nil {
		return err
	}
	// The messages of the last server may say why it ended.
	if err := os.Rename(c.logFile(), c.logFile()+".1"); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("keep last log: %w", err)
	}
	run, err := makeSocketDir(ctx, c.who, c.dir)
	c.run = run
	return err
}

func (c *cluster) removeUnfinished() error {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return fmt.Errorf("look for unfinished cluster: %w", err)
	}
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), unfinished) {
			continue
		}
		if err := removeInUse(filepath.Join(c.dir, entry.Name())); err != nil {
			return fmt.Errorf("remove unfinished cluster: %w", err)
		}
	}
	return nil
}

// removeInUse removes a folder in which what a killed initdb has left running may still write. That ends as soon as it
// misses its files.
func removeInUse(dir string) error {
	const triesAtMost = 1000
	var err error
	for range triesAtMost {
		if err = os.RemoveAll(dir); !errors.Is(err, syscall.ENOTEMPTY) {
			return err
		}
	}
	return err
}

// create makes the data in a folder aside and renames it when it is whole, so that a kill at any moment leaves a
// cluster or none.
func (c *cluster) create(ctx context.Context) error {
	half, err := os.MkdirTemp(c.dir, unfinished)
	if err != nil {
		return fmt.Errorf("create cluster: %w", err)
	}
	if err := c.initdb(ctx, half); err != nil {
		return errors.Join(err, os.RemoveAll(half))
	}
	if err := os.Rename(half, c.data()); err != nil {
		return fmt.Errorf("create cluster: %w", err)
	}
	// Else a power failure could take the folder back together with all that was committed in it.
	return syncDir(c.dir)
}

func (c *cluster) initdb(ctx context.Context, data string) error {
	if err := c.who.own(data); err != nil {
		return err
	}
	args := []string{"-D", data, "-U", appName, "-A", "trust", "-E", "UTF8", "--locale=C", "--data-checksums"}
	if !c.cfg.Durable {
		args = append(args, "--no-sync")
	}
	cmd := c.who.command(ctx, data, filepath.Join(c.bin, "initdb"), args...)
	dieWithParent(cmd.SysProcAttr, syscall.SIGKILL)
	var output strings.Builder
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := runPinned(cmd, make(chan error, 1)); err != nil {
		return fmt.Errorf("run initdb as user %s: %w: %s", c.who.name, err, strings.TrimSpace(output.String()))
	}
	return nil
}

// serve starts the server and returns when it answers.
func (c *cluster) serve(ctx context.Context) (*child, error) {
	deadline := time.Now().Add(startPatience)
	for {
		server, err := c.attempt(ctx)
		if err == nil || !isPassing(err) || time.Now().After(deadline) {
			return server, err
		}
		again := time.NewTimer(pollInterval)
		select {
		case <-ctx.Done():
			again.Stop()
			return nil, errors.Join(ctx.Err(), err)
		case <-again.C:
		}
	}
}

func (c *cluster) attempt(ctx context.Context) (*child, error) {
	messages, err := c.openLog()
	if err != nil {
		return nil, err
	}
	defer messages.Close()
	server, err := start(c.command(ctx, messages))
	if err != nil {
		return nil, err
	}
	if err := c.awaitReady(ctx, server); err != nil {
		return nil, errors.Join(err, stop(ctx, server))
	}
	return server, nil
}

// openLog begins anew with each attempt, so that the messages of the last one are not taken for those of the next.
func (c *cluster) openLog() (*os.File, error) {
	const flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC | os.O_APPEND | syscall.O_NOFOLLOW
	messages, err := os.OpenFile(c.logFile(), flags, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	return messages, nil
}

// command gives the server a file for its messages, as a pipe would break when an orphan outlives this process.
func (c *cluster) command(ctx context.Context, messages *os.File) *exec.Cmd {
	// The server outlives the context of the start: Stop ends it.
	cmd := c.who.command(context.WithoutCancel(ctx), c.data(), filepath.Join(c.bin, "postgres"), c.args()...)
	cmd.Stdout, cmd.Stderr = messages, messages
	dieWithParent(cmd.SysProcAttr, syscall.SIGINT)
	return cmd
}

func (c *cluster) args() []string {
	args := []string{
		"-D", c.data(),
		"-c", "listen_addresses=",
		"-c", "port=5432",
		"-c", `unix_socket_directories="` + strings.ReplaceAll(c.run, `"`, `""`) + `"`,
		"-c", "logging_collector=off",
		// An error belongs to the client that caused it; in the server's log refused duplicates would be noise.
		"-c", "log_min_messages=log",
		"-c", "log_checkpoints=off",
	}
	if !c.cfg.Durable {
		args = append(args, "-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off",
			// Small data make no query slow enough to be worth a compiler, which each connection would load anew.
			"-c", "jit=off")
	}
	if c.cfg.MaxConnections > 0 {
		args = append(args, "-c", "max_connections="+strconv.Itoa(c.cfg.MaxConnections))
	}
	return args
}

// awaitReady has no timeout of its own: recovery after a crash may take long.
func (c *cluster) awaitReady(ctx context.Context, server *child) error {
	var lastErr error
	answered := poll(ctx, func() bool {
		select {
		case <-server.done:
			return true
		default:
			lastErr = ensureDatabase(ctx, address(c.run, "postgres"))
			return lastErr == nil
		}
	})
	switch {
	case !answered:
		return fmt.Errorf("wait for PostgreSQL: %w", errors.Join(ctx.Err(), lastErr))
	case lastErr != nil || ended(server):
		return &exitError{err: server.err, log: c.tail()}
	default:
		return nil
	}
}

func (c *cluster) tail() string {
	text, err := readFile(c.logFile())
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(text[max(0, len(text)-logTail):]))
}

// exitError is a server that ended before it answered.
type exitError struct {
	err error
	log string
}

func (e *exitError) Error() string {
	return fmt.Sprintf("PostgreSQL ended at its start: %v: %s", e.err, e.log)
}

func (e *exitError) Unwrap() error { return e.err }

// isPassing reports whether the start failed because of something that a killed server leaves behind only for a moment.
func isPassing(err error) bool {
	exit, ok := errors.AsType[*exitError](err)
	return ok && (strings.Contains(exit.log, "pre-existing shared memory block") ||
		strings.Contains(exit.log, "lock file"))
}

func ended(server *child) bool {
	select {
	case <-server.done:
		return true
	default:
		return false
	}
}

func address(socketDir, database string) string {
	query := url.Values{"host": {socketDir}, "port": {"5432"}, "user": {appName}, "sslmode": {"disable"}}
	return (&url.URL{Scheme: "postgres", Path: "/" + database, RawQuery: query.Encode()}).String()
}

// ensureDatabase creates the application's database where a first start did not get that far.
func ensureDatabase(ctx context.Context, maintenance string) error {
	return connected(ctx, maintenance, func(ctx context.Context, conn *pgx.Conn) error {
		var found bool
		const query = "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)"
		if err := conn.QueryRow(ctx, query, appName).Scan(&found); err != nil || found {
			return err
		}
		_, err := conn.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{appName}.Sanitize())
		return err
	})
}

func connected(ctx context.Context, address string, use func(context.Context, *pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(ctx, connectPatience)
	defer cancel()
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	return errors.Join(use(ctx, conn), conn.Close(context.WithoutCancel(ctx)))
}
