// Command river starts validation runs exactly once and executes them, as a service on River does it: the key, the
// quota, the submission, the run and the job are written in one transaction, and a worker of River runs the engine and
// completes the run together with its job.
package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

const (
	maxConns = 20
	// As many workers as in River's documentation; its default pause between two fetches would bound them to 1,000 jobs
	// a second.
	maxWorkers    = 100
	fetchCooldown = 5 * time.Millisecond
	stopLimit     = 10 * time.Second
)

//go:embed schema.sql
var schema string

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		slog.Error("river", "error", err)
		os.Exit(1)
	}
}

// run serves at ADDRESS until ctx ends. Without WORKERS it starts runs and executes none.
func run(ctx context.Context) error {
	// The variables of libpq say where PostgreSQL is.
	cfg, err := pgxpool.ParseConfig("")
	if err != nil {
		return err
	}
	cfg.MaxConns = maxConns
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return err
	}
	defer pool.Close()
	if err := makeTables(ctx, pool); err != nil {
		return err
	}
	jobs, err := startRiver(ctx, pool, os.Getenv("WORKERS") != "")
	if err != nil {
		return err
	}
	a := &api{pool: pool, jobs: jobs}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez/", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "{}") })
	mux.HandleFunc("POST /api/workflows/{id}/start/", a.start)
	server := &http.Server{Addr: os.Getenv("ADDRESS"), Handler: mux, ReadHeaderTimeout: stopLimit}
	served := make(chan error, 1)
	go func() { served <- server.ListenAndServe() }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopLimit)
	defer cancel()
	return errors.Join(server.Shutdown(ctx), stopRiver(ctx, jobs))
}

// makeTables makes the tables with the organizations that the benchmark knows, in the empty schema of the connections.
func makeTables(ctx context.Context, pool *pgxpool.Pool) error {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	if _, err := conn.Exec(ctx, "SELECT set_config('bench.step', $1, false)", os.Getenv("STEP")); err != nil {
		return err
	}
	_, err = conn.Exec(ctx, schema)
	return err
}

func startRiver(ctx context.Context, pool *pgxpool.Pool, works bool) (*river.Client[pgx.Tx], error) {
	driver := riverpgxv5.New(pool)
	migrator, err := rivermigrate.New(driver, nil)
	if err != nil {
		return nil, err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return nil, err
	}
	cfg := &river.Config{Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))}
	if works {
		cfg.Workers = river.NewWorkers()
		river.AddWorker(cfg.Workers, &executor{pool: pool})
		cfg.Queues = map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: maxWorkers}}
		cfg.FetchCooldown = fetchCooldown
	}
	client, err := river.NewClient(driver, cfg)
	if err != nil || !works {
		return client, err
	}
	return client, client.Start(context.WithoutCancel(ctx))
}

func stopRiver(ctx context.Context, jobs *river.Client[pgx.Tx]) error {
	if os.Getenv("WORKERS") == "" {
		return nil
	}
	return jobs.Stop(ctx)
}
