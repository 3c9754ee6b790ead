package config

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/embedded"
	"github.com/simplevalidations/simplevalidations/migrations"
)

// stopTimeout bounds the orderly stop of the private PostgreSQL.
const stopTimeout = 15 * time.Second

// backend is the database that a command works on: the configured one, or the private one of the data
// directory, which is started for the command's duration unless a running server has it already.
type backend struct {
	db      *core.DB
	private *embedded.Postgres
	log     *slog.Logger
}

// openBackend connects to the database and brings its schema up to date when migrate is set.
func openBackend(ctx context.Context, settings Settings, log *slog.Logger) (*backend, error) {
	b := &backend{log: log}
	address := string(settings.DatabaseURL)
	if address == "" {
		private, err := embedded.StartPostgres(ctx, embedded.PostgresConfig{
			Dir: filepath.Join(settings.DataDir, "postgres"), BinDir: settings.PostgresBinDir, Durable: true, Log: log,
		})
		if err != nil {
			return nil, fmt.Errorf("start the private PostgreSQL: %w", err)
		}
		b.private = private
		address = private.URL()
	}
	db, err := core.OpenDatabase(ctx, core.DatabaseConfig{
		URL: address, MaxConns: settings.DBMaxConns, LockTimeout: settings.DBLockTimeout,
		StatementTimeout: settings.DBStatementTimeout, IdleTimeout: settings.DBIdleTimeout,
	})
	if err != nil {
		return nil, errors.Join(err, b.close(ctx))
	}
	b.db = db
	return b, nil
}

// openMigrated is openBackend with the schema brought up to date.
func openMigrated(ctx context.Context, settings Settings, log *slog.Logger) (*backend, error) {
	b, err := openBackend(ctx, settings, log)
	if err != nil {
		return nil, err
	}
	if err := migrations.Up(core.Unlimited(ctx), b.db.SQL); err != nil {
		return nil, errors.Join(err, b.close(ctx))
	}
	return b, nil
}

// close must also work after the command's context has ended.
func (b *backend) close(ctx context.Context) error {
	var problems []error
	if b.db != nil {
		problems = append(problems, b.db.Close())
	}
	if b.private != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		problems = append(problems, b.private.Stop(ctx))
	}
	return errors.Join(problems...)
}
