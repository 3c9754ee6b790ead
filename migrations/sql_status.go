package migrations

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/pressly/goose/v3"
)

// State is one migration, its statements, and whether it has been applied.
type State struct {
	Name, SQL string
	Applied   bool
}

// Status lists every migration in order, applied or not.
//
// It only reads, so it works on a standby and for a role that may not create tables, and it neither takes nor awaits
// the lock of migrations: through a pooler that lock would stay with a session that others use.
func Status(ctx context.Context, db *sql.DB) ([]State, error) {
	applied, err := readApplied(ctx, db)
	if err != nil {
		return nil, err
	}
	names, err := fs.Glob(FS, "*.sql")
	if err != nil {
		return nil, fmt.Errorf("list migrations: %w", err)
	}
	states := make([]State, len(names))
	for i, name := range names {
		number, err := goose.NumericComponent(name)
		if err != nil {
			return nil, fmt.Errorf("number of migration %s: %w", name, err)
		}
		text, err := FS.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read migration %s: %w", name, err)
		}
		up, _, _ := strings.Cut(string(text), "-- +goose Down")
		states[i] = State{Name: name, SQL: strings.TrimSpace(up), Applied: applied[number]}
	}
	return states, nil
}

// readApplied returns the numbers of the migrations that the database has. An empty database has none.
func readApplied(ctx context.Context, db *sql.DB) (map[int64]bool, error) {
	const undefinedTable = "42P01"
	rows, err := db.QueryContext(ctx, `SELECT version_id FROM goose_db_version WHERE is_applied`)
	if pgErr, ok := errors.AsType[*pgconn.PgError](err); ok && pgErr.Code == undefinedTable {
		return nil, nil //nolint:nilnil // A nil map has no numbers.
	}
	if err != nil {
		return nil, fmt.Errorf("read the applied migrations: %w", err)
	}
	defer rows.Close()
	applied := make(map[int64]bool)
	for rows.Next() {
		var number int64
		if err := rows.Scan(&number); err != nil {
			return nil, fmt.Errorf("read an applied migration: %w", err)
		}
		applied[number] = true
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read the applied migrations: %w", err)
	}
	return applied, nil
}

// Pending lists the names of the migrations that Up would apply, in their order.
func Pending(ctx context.Context, db *sql.DB) ([]string, error) {
	states, err := Status(ctx, db)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, state := range states {
		if !state.Applied {
			names = append(names, state.Name)
		}
	}
	return names, nil
}
