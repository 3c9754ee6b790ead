package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

//go:embed check.sql
var checkScript string

// check compares what the database holds with what was acknowledged. A run too many is one that a customer pays for and
// nobody has asked for; a run too few is a lost one.
func check(ctx context.Context, db *pgx.Conn, tenants []tenant) error {
	acknowledged := make([]int64, len(tenants))
	for i, t := range tenants {
		acknowledged[i] = t.acknowledged.Load()
	}
	rows, err := db.Query(ctx, checkScript, acknowledged)
	if err != nil {
		return fmt.Errorf("count rows: %w", err)
	}
	wrong, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (error, error) {
		var text string
		err := row.Scan(&text)
		return errors.New(text), err
	})
	return errors.Join(append(wrong, err)...)
}
