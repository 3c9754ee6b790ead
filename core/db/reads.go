package db

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Reads collect look-ups that go to the database in one round trip, outside of a transaction. Each sees the
// database as it is when its turn comes.
//
// They suit pages and lists, where a look-up finds many rows or asks for what no index leads to at once. What every
// request asks for by one key is better off in a Loader.
type Reads struct {
	batch pgx.Batch
}

// Queue adds a look-up. Collect reads its rows to their end when Read runs it; its error ends the reading.
func (r *Reads) Queue(collect func(pgx.Rows) error, query string, args ...any) {
	r.batch.Queue(query, args...).Query(collect)
}

// Read runs the look-ups in their order.
func (db *DB) Read(ctx context.Context, reads *Reads) error {
	if err := db.Pool.SendBatch(ctx, &reads.batch).Close(); err != nil {
		return fmt.Errorf("run %d look-ups: %w", reads.batch.Len(), err)
	}
	return nil
}

// Querier is the pool or a transaction.
type Querier interface {
	Query(ctx context.Context, query string, args ...any) (pgx.Rows, error)
}

// All reads the rows of one query.
func All[T any](
	ctx context.Context, on Querier, scan pgx.RowToFunc[T], query string, args ...any,
) ([]T, error) {
	rows, err := on.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scan)
}

// Each reads the rows of one query one after the other into what the targets point to, and calls do for each.
func Each(
	ctx context.Context, on Querier, targets []any, do func() error, query string, args ...any,
) error {
	rows, err := on.Query(ctx, query, args...)
	if err != nil {
		return err
	}
	_, err = pgx.ForEachRow(rows, targets, do)
	return err
}

// Map reads the rows of a query with two columns into a map, by the first one.
func Map[K comparable, V any](ctx context.Context, on Querier, query string, args ...any) (map[K]V, error) {
	found := make(map[K]V)
	var key K
	var value V
	err := Each(ctx, on, []any{&key, &value}, func() error {
		found[key] = value
		return nil
	}, query, args...)
	return found, err
}

// AllInto returns a collect that stores all rows of a look-up in found, which is valid once Read has returned.
func AllInto[T any](found *[]T, scan pgx.RowToFunc[T]) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		all, err := pgx.CollectRows(rows, scan)
		*found = all
		return err
	}
}

// OneInto returns a collect that stores the one row of a look-up in found, which is valid once Read has returned. The
// error is pgx.ErrNoRows or pgx.ErrTooManyRows if there is not exactly one.
func OneInto[T any](found *T, scan pgx.RowToFunc[T]) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		one, err := pgx.CollectExactlyOneRow(rows, scan)
		*found = one
		return err
	}
}
