package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// ownerLock is held by the process that runs the server; its text is the address of the server once it answers.
	ownerLock = "owner.lock"
	// joinPatience is how long a process waits for the server of another process to answer.
	joinPatience = time.Minute
)

// PostgresConfig says where the data live and how they are served.
type PostgresConfig struct {
	// Dir is a folder for this cluster alone. It is created when missing.
	Dir string
	// BinDir holds the server binaries; empty means to look for them.
	BinDir string
	// Durable keeps every acknowledged commit through a crash of the machine. Only throw-away data do without.
	Durable bool
	// MaxConnections is the server's limit; 0 leaves PostgreSQL's default.
	MaxConnections int
	// Log gets a line for the server's start and one for an unexpected end.
	Log *slog.Logger
}

// Postgres is a private server, run by this process or joined.
type Postgres struct {
	url      string
	binDir   string
	dir      string
	done     chan struct{}
	stopping atomic.Bool

	// What follows belongs to the owner and is nil or empty for a joined server.
	lock      *Lock
	server    *child
	socketDir string
	mu        sync.Mutex // guards stopped
	stopped   bool
}

// StartPostgres starts the server of the folder and returns when it answers. When another process runs it already,
// StartPostgres waits until that server answers and joins it. Data are never deleted, whatever the folder holds.
func StartPostgres(ctx context.Context, cfg PostgresConfig) (*Postgres, error) {
	base, err := filepath.Abs(cfg.Dir)
	if err != nil {
		return nil, fmt.Errorf("find data folder: %w", err)
	}
	bin, err := findBinaries(cfg.BinDir)
	if err != nil {
		return nil, err
	}
	lock, running, err := lockOrJoin(ctx, base)
	if err != nil {
		return nil, err
	}
	if lock == nil {
		cfg.Log.InfoContext(ctx, "joined the embedded database of another process", "dir", base)
		return joined(base, bin, running)
	}
	server, err := launch(ctx, cfg, base, bin, lock)
	if err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	return server, nil
}

// URL is the address of the application's database.
func (p *Postgres) URL() string { return p.url }

// BinDir is the folder of the server binaries in use, which holds pg_dump and its like where they are installed.
func (p *Postgres) BinDir() string { return p.binDir }

// Dir is the folder that really holds the cluster: not the configured one where the server's user cannot reach that.
func (p *Postgres) Dir() string { return p.dir }

// Owned reports whether this process runs the server, and ends it with Stop.
func (p *Postgres) Owned() bool { return p.lock != nil }

// Done is closed when the server has ended, through Stop or by itself. It stays open for a joined server.
func (p *Postgres) Done() <-chan struct{} { return p.done }

// Stop ends an owned server and waits for its end; it leaves a joined one alone. When ctx ends first the server is
// stopped without a checkpoint, which costs the next start a recovery but no data. Stopping twice does nothing.
func (p *Postgres) Stop(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.Owned() || p.stopped {
		return nil
	}
	p.stopping.Store(true)
	if err := stop(ctx, p.server); err != nil {
		return err
	}
	<-p.done
	// Once the lock is free another process may own the folder, so nothing of this may happen twice.
	p.stopped = true
	return errors.Join(os.RemoveAll(p.socketDir), p.lock.publish(""), p.lock.Unlock())
}

// watch logs when the server has ended without Stop.
func (p *Postgres) watch(ctx context.Context, log *slog.Logger, messages string) {
	defer close(p.done)
	<-p.server.done
	if !p.stopping.Load() {
		log.ErrorContext(ctx, "embedded database ended unexpectedly", "error", p.server.err, "messages", messages)
	}
}

// lockOrJoin returns the lock, or the address of the server that the lock's holder runs. It keeps trying both, as the
// holder may end before its server answers.
func lockOrJoin(ctx context.Context, base string) (*Lock, string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, joinPatience,
		fmt.Errorf("another process holds %s, but its database does not answer", base))
	defer cancel()
	var lock *Lock
	var running string
	var failure error
	if !poll(ctx, func() bool {
		lock, failure = LockDir(base, ownerLock)
		if !errors.Is(failure, ErrLocked) {
			return true
		}
		running, failure = publishedAddress(ctx, base)
		return failure == nil
	}) {
		return nil, "", fmt.Errorf("join database: %w: %w", context.Cause(ctx), failure)
	}
	return lock, running, failure
}

func publishedAddress(ctx context.Context, base string) (string, error) {
	text, err := readFile(filepath.Join(base, ownerLock))
	if err != nil {
		return "", fmt.Errorf("read address: %w", err)
	}
	running := string(text)
	if !strings.HasPrefix(running, "postgres:") {
		return "", errors.New("not ready yet")
	}
	return running, connected(ctx, running, func(ctx context.Context, conn *pgx.Conn) error { return conn.Ping(ctx) })
}

func joined(base, bin, running string) (*Postgres, error) {
	dir, _, err := readNote(base)
	if err != nil {
		return nil, err
	}
	return &Postgres{url: running, binDir: bin, dir: dir, done: make(chan struct{})}, nil
}

// launch starts the server while the lock is held.
func launch(ctx context.Context, cfg PostgresConfig, base, bin string, lock *Lock) (*Postgres, error) {
	begun := time.Now()
	// The address of a killed owner's server must not be taken for that of the coming one.
	if err := lock.publish(""); err != nil {
		return nil, err
	}
	dir, who, err := settle(ctx, base, cfg.Log)
	if err != nil {
		return nil, err
	}
	home := &cluster{cfg: cfg, bin: bin, dir: dir, who: who}
	if err := home.prepare(ctx); err != nil {
		return nil, err
	}
	server, err := home.serve(ctx)
	if err != nil {
		return nil, err
	}
	p := &Postgres{
		url: address(home.run, appName), binDir: bin, dir: dir, done: make(chan struct{}),
		lock: lock, server: server, socketDir: home.run,
	}
	go p.watch(context.WithoutCancel(ctx), cfg.Log, home.logFile())
	if err := lock.publish(p.url); err != nil {
		return nil, errors.Join(err, p.Stop(ctx))
	}
	cfg.Log.InfoContext(ctx, "started the embedded database", "dir", dir, "user", who.name,
		"duration", time.Since(begun))
	return p, nil
}
