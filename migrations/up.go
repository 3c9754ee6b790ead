package migrations

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

const (
	// migratorPollSeconds and migratorPolls bound how long a process waits for another one's migration.
	migratorPollSeconds = 1
	migratorPolls       = 300

	// tableLockTimeout bounds the wait of a migration's statement for a table, in milliseconds. While it waits, every
	// request that needs the table queues up behind it, so it gives way long before they run into a time limit.
	tableLockTimeout = "500"
	// minRest and maxRest bound the pauses in which the requests that have queued up are served.
	minRest = time.Second
	maxRest = 10 * time.Second
	// lockPatience is how long one migration is tried again. A backup may hold its locks for as long.
	lockPatience = 10 * time.Minute
)

// Up applies what is pending, one migration after the other. It holds a session lock of the database: of several
// processes that start at once, one migrates and the others wait for it.
//
// A statement that does not get its lock on a table within half a second is given up and its migration is repeated
// later, for up to ten minutes, so that a long transaction delays the migration and not the service.
//
// It returns the names of the migrations that this call has applied, also beside an error.
func Up(ctx context.Context, db *sql.DB, log *slog.Logger) ([]string, error) {
	return Apply(ctx, db, FS, log)
}

// Apply is Up with other files than FS.
func Apply(ctx context.Context, db *sql.DB, files fs.FS, log *slog.Logger) ([]string, error) {
	provider, err := newMigrator(db, files)
	if err != nil {
		return nil, err
	}
	var applied []string
	began := time.Now()
	for {
		switch name, err := applyNext(ctx, db, provider, log); {
		case errors.Is(err, goose.ErrNoNextVersion):
			if len(applied) > 0 {
				log.InfoContext(ctx, "applied migrations", "count", len(applied), "last", applied[len(applied)-1],
					"ms", time.Since(began).Milliseconds())
			}
			return applied, nil
		case err != nil:
			return applied, fmt.Errorf("migrate: %w", err)
		default:
			applied = append(applied, name)
		}
	}
}

// applyNext applies one migration, as often as it takes to get its locks, and returns its name.
func applyNext(ctx context.Context, db *sql.DB, provider *goose.Provider, log *slog.Logger) (string, error) {
	patience, stop := context.WithTimeout(ctx, lockPatience)
	defer stop()
	for rest := minRest; ; rest = min(2*rest, maxRest) {
		applied, err := provider.UpByOne(ctx)
		if err == nil {
			log.DebugContext(ctx, "applied a migration", "name", applied.Source.Path,
				"ms", applied.Duration.Milliseconds())
			return applied.Source.Path, nil
		}
		if !isLockedOut(err) {
			return "", err
		}
		log.LogAttrs(ctx, slog.LevelWarn, "a migration gives way to other transactions and is repeated",
			slog.Any("error", err), slog.Int64("in_ms", rest.Milliseconds()),
			slog.String("oldest_transaction", oldest(ctx, db)))
		select {
		case <-patience.Done():
			return "", fmt.Errorf("gave up, end the long transactions (a backup is one) and migrate again: %w", err)
		case <-time.After(rest/2 + rand.N(rest)): //nolint:gosec // It spreads attempts and guards nothing.
		}
	}
}

// isLockedOut reports whether a statement gave up waiting for a lock (55P03), or was chosen to end a deadlock (40P01).
func isLockedOut(err error) bool {
	pgErr, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (pgErr.Code == "55P03" || pgErr.Code == "40P01")
}

// oldest names the transaction that most likely holds the lock, for the operator who reads the log.
func oldest(ctx context.Context, db *sql.DB) string {
	var description string
	const query = `SELECT format('process %s of %s (%s), open since %s', pid, usename, application_name, xact_start)
		FROM pg_stat_activity WHERE xact_start IS NOT NULL AND pid <> pg_backend_pid() ORDER BY xact_start LIMIT 1`
	if err := db.QueryRowContext(ctx, query).Scan(&description); err != nil {
		return "not known: " + err.Error()
	}
	return description
}

// impatient is the migrator's session lock, which also bounds how long the session waits for tables.
type impatient struct {
	lock.SessionLocker
}

// SessionLock waits for other migrators without the bound: they may take as long as they take.
func (i impatient) SessionLock(ctx context.Context, conn *sql.Conn) error {
	if err := i.SessionLocker.SessionLock(ctx, conn); err != nil {
		return err
	}
	if _, err := conn.ExecContext(ctx, "SET lock_timeout = "+tableLockTimeout); err != nil {
		return errors.Join(fmt.Errorf("set the lock timeout: %w", err), i.SessionLocker.SessionUnlock(ctx, conn))
	}
	return nil
}

// SessionUnlock gives the connection back as it was.
func (i impatient) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, "RESET lock_timeout")
	return errors.Join(err, i.SessionLocker.SessionUnlock(ctx, conn))
}
