package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/simplevalidations/simplevalidations/migrations"
)

const smallName = "small"

// small is pgbench in a database of its own whose tables stay small.
type small struct {
	yardstick yardstick
}

// newSmall makes the database.
func newSmall(ctx context.Context, c *course) (*small, error) {
	s := &small{yardstick: c.yardstick}
	var err error
	s.yardstick.db, s.yardstick.url, err = newDatabase(ctx, c.world, smallName)
	return s, err
}

// newDatabase makes a database with the tables and the organizations of the service, and returns its address.
func newDatabase(ctx context.Context, w *world, name string) (*pgx.Conn, string, error) {
	if _, err := w.db.Exec(ctx, "CREATE DATABASE "+name); err != nil {
		return nil, "", fmt.Errorf("create the database %s: %w", name, err)
	}
	address, err := url.Parse(w.postgres.URL())
	if err != nil {
		return nil, "", fmt.Errorf("read the address of PostgreSQL: %w", err)
	}
	address.Path = "/" + name
	config, err := pgx.ParseConfig(address.String())
	if err != nil {
		return nil, "", fmt.Errorf("read the address of PostgreSQL: %w", err)
	}
	connections := stdlib.OpenDB(*config)
	defer connections.Close()
	if _, err := migrations.Up(ctx, connections, slog.New(slog.DiscardHandler)); err != nil {
		return nil, "", fmt.Errorf("make the tables of %s: %w", name, err)
	}
	db, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, "", fmt.Errorf("connect: %w", err)
	}
	return db, address.String(), seed(ctx, db)
}

// close lets the server go, which takes the database with it.
func (s *small) close(ctx context.Context) { _ = s.yardstick.db.Close(ctx) } // All answers are there.

// measure runs pgbench on tables with a thousand keys.
func (s *small) measure(ctx context.Context, what work, clients int, duration time.Duration) (sample, error) {
	for _, statement := range []string{
		`TRUNCATE idempotency_keys, validation_runs, submissions, staged_jobs, usage_counters CASCADE`,
		`INSERT INTO usage_counters (org_id, metric, period_start)
		SELECT id, 'runs', date_trunc('month', now() AT TIME ZONE 'UTC')::date FROM organizations`,
		`INSERT INTO idempotency_keys (org_id, id, key, endpoint, request_method, request_path, fingerprint_version,
			request_hash, target_digest, content_digest, options_digest, request_id, response_status,
			response_headers, response_body, recovery_point, created_at, expires_at)
		SELECT o.id, gen_random_uuid(), '` + keyPrefix + `' || right(o.id::text, 12), 'workflow_start', 'POST', '/', 1,
			d.zeros, d.zeros AS target, d.zeros AS content, d.zeros AS options, o.slug, 201, '{}', d.zeros AS body,
			'finished', now(), now() + interval '1 day'
		FROM organizations AS o, sha256('') AS d (zeros)`,
		`ANALYZE`,
	} {
		if _, err := s.yardstick.db.Exec(ctx, statement); err != nil {
			return sample{}, fmt.Errorf("make the tables small: %w", err)
		}
	}
	return s.yardstick.measure(ctx, what, clients, duration)
}
