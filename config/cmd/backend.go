package cmd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/simplevalidations/simplevalidations/config"
	"github.com/simplevalidations/simplevalidations/config/archive"
	"github.com/simplevalidations/simplevalidations/core/cli"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/embedded"
	"github.com/simplevalidations/simplevalidations/migrations"
	"github.com/simplevalidations/simplevalidations/validations/objects"
)

// stopTimeout bounds the orderly stop of the private PostgreSQL.
const stopTimeout = 15 * time.Second

// backend is the database that a command works on: the configured one, or the private one of the data
// directory, which is started for the command's duration unless a running server has it already.
type backend struct {
	db      *db.DB
	objects *objects.Store
	private *embedded.Postgres
	log     *slog.Logger
}

// openBackend connects to the database.
func openBackend(ctx context.Context, settings config.Settings, log *slog.Logger) (*backend, error) {
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
	database, err := db.Open(ctx, settings.Database(address))
	if err != nil {
		return nil, errors.Join(err, b.close(ctx))
	}
	b.db = database
	if b.objects, err = objects.Open(string(settings.ContentURL)); err != nil {
		return nil, errors.Join(err, b.close(ctx))
	}
	if err := b.refuseSecretPooler(ctx, settings); err != nil {
		return nil, errors.Join(err, b.close(ctx))
	}
	return b, nil
}

func (b *backend) place() archive.Place { return archive.Place{DB: b.db, Objects: b.objects} }

// refuseSecretPooler refuses a pooler that the settings do not name: some statements would fail by chance, and a
// migration's lock could stay in a session that is not used again.
func (b *backend) refuseSecretPooler(ctx context.Context, settings config.Settings) error {
	if settings.DatabaseDirectURL != "" {
		return nil
	}
	pooled, err := b.db.BehindPooler(ctx)
	if err != nil {
		return err
	}
	if pooled {
		return &config.UsageError{Reason: "DATABASE_URL leads through a connection pooler: " +
			"set DATABASE_DIRECT_URL to the address of the server behind it"}
	}
	return nil
}

// openForOperator is openBackend for a command that reads or writes what the service stores. The private database is
// brought up to date. Any other one serves processes of this release or of an older one, so only those who run `serve`
// or `migrate up` decide when its schema changes, and an older schema is refused.
func openForOperator(ctx context.Context, settings config.Settings, log *slog.Logger) (*backend, error) {
	if settings.DatabaseURL == "" {
		return openMigrated(ctx, settings, log)
	}
	return openCurrent(ctx, settings, log)
}

// openMigrated is openBackend with the schema brought up to date.
func openMigrated(ctx context.Context, settings config.Settings, log *slog.Logger) (*backend, error) {
	b, err := openBackend(ctx, settings, log)
	if err != nil {
		return nil, err
	}
	if _, err := b.migrate(ctx, settings); err != nil {
		return nil, errors.Join(err, b.close(ctx))
	}
	return b, nil
}

// openCurrent is openBackend for a schema that the operator migrates. It refuses a schema that is older than this
// release.
func openCurrent(ctx context.Context, settings config.Settings, log *slog.Logger) (*backend, error) {
	b, err := openBackend(ctx, settings, log)
	if err != nil {
		return nil, err
	}
	pending, err := migrations.Pending(ctx, b.db.SQL)
	if err == nil && len(pending) > 0 {
		err = &cli.ExitError{Code: cli.ExitOutdated, Reason: config.DescribePending(pending) +
			"; simplevalidations migrate up applies them, and with --dry-run only prints them"}
	}
	if err != nil {
		return nil, errors.Join(err, b.close(ctx))
	}
	return b, nil
}

// migrate applies what is pending and returns its names. The lock that keeps others from doing the same belongs to a
// session, so it is never taken through a pooler.
func (b *backend) migrate(ctx context.Context, settings config.Settings) ([]string, error) {
	if settings.DatabaseDirectURL == "" {
		return migrations.Up(db.Unlimited(ctx), b.db.SQL, b.log)
	}
	direct, err := config.OpenDirect(ctx, settings, b.db)
	if err != nil {
		return nil, err
	}
	applied, err := migrations.Up(db.Unlimited(ctx), direct.SQL, b.log)
	return applied, errors.Join(err, direct.Close())
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
