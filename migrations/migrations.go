// Package migrations holds the schema as SQL files and applies them.
//
// The files are the one truth about the schema. They are append-only, and code of the previous
// release must run on the schema of the next.
package migrations

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"strings"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

// FS holds the migration files, named NNNNN_topic.sql.
//
//go:embed *.sql
var FS embed.FS

// State is one migration and whether it has been applied.
type State struct {
	Name    string
	Applied bool
}

// Status lists every migration in order, applied or not.
func Status(ctx context.Context, db *sql.DB) ([]State, error) {
	provider, err := newReader(db)
	if err != nil {
		return nil, err
	}
	statuses, err := provider.Status(ctx)
	if err != nil {
		return nil, fmt.Errorf("read migration status: %w", err)
	}
	states := make([]State, len(statuses))
	for i, s := range statuses {
		states[i] = State{Name: s.Source.Path, Applied: s.State == goose.StateApplied}
	}
	return states, nil
}

// Planned is a migration to be applied, and its statements.
type Planned struct {
	Name, SQL string
}

// Plan lists the migrations that Up would apply, in their order.
func Plan(ctx context.Context, db *sql.DB) ([]Planned, error) {
	states, err := Status(ctx, db)
	if err != nil {
		return nil, err
	}
	var plan []Planned
	for _, state := range states {
		if state.Applied {
			continue
		}
		text, err := FS.ReadFile(state.Name)
		if err != nil {
			return nil, fmt.Errorf("read migration %s: %w", state.Name, err)
		}
		up, _, _ := strings.Cut(string(text), "-- +goose Down")
		plan = append(plan, Planned{state.Name, strings.TrimSpace(up)})
	}
	return plan, nil
}

// Pending tells whether a migration is still to be applied.
func Pending(ctx context.Context, db *sql.DB) (bool, error) {
	provider, err := newReader(db)
	if err != nil {
		return false, err
	}
	pending, err := provider.HasPending(ctx)
	if err != nil {
		return false, fmt.Errorf("look for pending migrations: %w", err)
	}
	return pending, nil
}

// newReader makes a provider that takes no lock. What only reads need not wait for the end of a migration, and may go
// through a pooler: there a lock that belongs to a session would stay with a session that others use.
func newReader(db *sql.DB) (*goose.Provider, error) {
	return newProvider(db, FS)
}

// newMigrator makes a provider that holds the lock of migrations while it works.
func newMigrator(db *sql.DB, files fs.FS) (*goose.Provider, error) {
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(migratorPollSeconds, migratorPolls))
	if err != nil {
		return nil, fmt.Errorf("make the migration lock: %w", err)
	}
	return newProvider(db, files, goose.WithSessionLocker(impatient{locker}))
}

func newProvider(db *sql.DB, files fs.FS, options ...goose.ProviderOption) (*goose.Provider, error) {
	// A database that followed main may have a later migration: branches choose numbers before they are merged.
	options = append(options, goose.WithAllowOutofOrder(true))
	provider, err := goose.NewProvider(goose.DialectPostgres, db, files, options...)
	if err != nil {
		return nil, fmt.Errorf("load migrations: %w", err)
	}
	return provider, nil
}
