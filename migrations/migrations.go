// Package migrations holds the schema as SQL files and applies them.
//
// The files are the one truth about the schema. They are append-only, and code of the previous
// release must run on the schema of the next.
package migrations

import (
	"database/sql"
	"embed"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

// FS holds the migration files, named NNNNN_topic.sql.
//
//go:embed *.sql
var FS embed.FS

// newMigrator makes a provider that holds the lock of migrations while it works.
func newMigrator(db *sql.DB, files fs.FS) (*goose.Provider, error) {
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(migratorPollSeconds, migratorPolls))
	if err != nil {
		return nil, fmt.Errorf("make the migration lock: %w", err)
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, db, files,
		goose.WithSessionLocker(impatient{locker}),
		// A database that followed the development may have a later migration: branches choose numbers before they are
		// merged.
		goose.WithAllowOutofOrder(true))
	if err != nil {
		return nil, fmt.Errorf("load migrations: %w", err)
	}
	return provider, nil
}
