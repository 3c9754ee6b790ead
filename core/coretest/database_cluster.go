package coretest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/simplevalidations/simplevalidations/core/embedded"
)

const (
	// maxConnections serves the pools of many parallel tests of several packages.
	maxConnections = 300
	clusterPrefix  = "simplevalidations-test-"
	clusterLock    = "test.lock"
	// newborn is the age below which a folder may belong to a process that has not locked it yet.
	newborn = time.Minute
	// memory is where Linux keeps files in memory.
	memory = "/dev/shm"
	// enoughMemory is several times what the databases of one run of the tests take at a time.
	enoughMemory = 4 << 30
)

// Cluster is a throw-away PostgreSQL server in TMPDIR or, where that is not set, in memory if there is enough of it. A
// crash of the machine ruins it.
type Cluster struct {
	server *embedded.Postgres
	dir    string
	lock   *embedded.Lock
}

// StartCluster starts a server of its own, from the binaries in PG_BIN_DIR or where they are usually installed. First
// it removes what killed processes left behind.
func StartCluster(ctx context.Context) (*Cluster, error) {
	parent := clusterParent()
	if err := removeAbandoned(parent); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(parent, clusterPrefix)
	if err != nil {
		return nil, fmt.Errorf("make folder: %w", err)
	}
	c := &Cluster{dir: dir}
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(err, c.Remove(ctx))
	}
	return c, nil
}

// clusterParent prefers memory: a database has 350 files, and ext4, which gives nobody the inode of a file that was
// deleted a few minutes ago, takes ten times the processor time to make them.
func clusterParent() string {
	if dir := os.Getenv("TMPDIR"); dir != "" {
		return dir
	}
	var found unix.Statfs_t
	if err := unix.Statfs(memory, &found); err != nil || found.Bavail*uint64(found.Bsize) < enoughMemory {
		return os.TempDir()
	}
	return memory
}

// OpenFolder makes a temporary folder in which the user can write who runs PostgreSQL for root. The parent of
// tb.TempDir is closed to others.
func OpenFolder(tb testing.TB) string {
	tb.Helper()
	dir, err := os.MkdirTemp(clusterParent(), "simplevalidations-open-") //nolint:usetesting // as said above
	if err != nil {
		tb.Fatalf("make folder: %v", err)
	}
	tb.Cleanup(func() {
		// A killed program's PostgreSQL may still write while it ends.
		Await(tb, "the folder can be removed", func() bool { return os.RemoveAll(dir) == nil })
	})
	if err := os.Chmod(dir, 0o777); err != nil {
		tb.Fatalf("open folder: %v", err)
	}
	return dir
}

// StartPostgres starts a server that keeps what it has acknowledged, on the data of a folder if it has some. It ends
// with its test.
func StartPostgres(tb testing.TB, dir string) *embedded.Postgres {
	tb.Helper()
	server, err := embedded.StartPostgres(context.WithoutCancel(tb.Context()), embedded.PostgresConfig{
		Dir: dir, BinDir: os.Getenv("PG_BIN_DIR"), Durable: true, MaxConnections: 100,
		Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		tb.Fatalf("start PostgreSQL: %v", err)
	}
	tb.Cleanup(func() {
		if err := server.Stop(context.WithoutCancel(tb.Context())); err != nil {
			tb.Errorf("stop PostgreSQL: %v", err)
		}
	})
	return server
}

// URL is the address of the server's maintenance database.
func (c *Cluster) URL() string { return c.server.URL() }

// Log returns what the server has logged.
func (c *Cluster) Log() (string, error) {
	text, err := os.ReadFile(filepath.Join(c.server.Dir(), "postgres.log"))
	if err != nil {
		return "", fmt.Errorf("read the log of the server: %w", err)
	}
	return string(text), nil
}

// MakeDir makes a folder that is removed with the server.
func (c *Cluster) MakeDir(name string) (string, error) {
	dir := filepath.Join(c.dir, name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", fmt.Errorf("make folder: %w", err)
	}
	return dir, nil
}

// Remove stops the server and deletes its data.
func (c *Cluster) Remove(ctx context.Context) error {
	var failures []error
	if c.server != nil {
		failures = append(failures, c.server.Stop(ctx), os.RemoveAll(c.server.Dir()))
	}
	failures = append(failures, os.RemoveAll(c.dir))
	if c.lock != nil {
		failures = append(failures, c.lock.Unlock())
	}
	return errors.Join(failures...)
}

func (c *Cluster) start(ctx context.Context) error {
	lock, err := embedded.LockDir(c.dir, clusterLock)
	if err != nil {
		return fmt.Errorf("lock folder: %w", err)
	}
	c.lock = lock
	// Temporary folders are closed to others, and for root another user runs the server.
	if err := os.Chmod(c.dir, 0o755); err != nil {
		return fmt.Errorf("open folder: %w", err)
	}
	server, err := embedded.StartPostgres(ctx, embedded.PostgresConfig{
		Dir:            filepath.Join(c.dir, "postgres"),
		BinDir:         os.Getenv("PG_BIN_DIR"),
		MaxConnections: maxConnections,
		Log:            slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return fmt.Errorf("start: %w", err)
	}
	c.server = server
	return nil
}

// removeAbandoned removes the folders of processes that were killed, as tests are when they exceed their time. Their
// servers have ended with them, and the lock tells that nobody else uses the folder.
func removeAbandoned(temp string) error {
	dirs, err := filepath.Glob(filepath.Join(temp, clusterPrefix+"*"))
	if err != nil {
		return fmt.Errorf("look for abandoned folders: %w", err)
	}
	for _, dir := range dirs {
		found, err := os.Stat(dir)
		if err != nil || time.Since(found.ModTime()) < newborn {
			continue
		}
		lock, err := embedded.LockDir(dir, clusterLock)
		if err != nil {
			continue // Somebody uses it, or it is another user's.
		}
		if err := errors.Join(os.RemoveAll(dir), lock.Unlock()); err != nil {
			return fmt.Errorf("remove abandoned folder: %w", err)
		}
	}
	return nil
}
