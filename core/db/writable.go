package db

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// The reasons why a database that answers cannot store anything.
var (
	ErrReadOnly = errors.New("the database is read-only")
	ErrFull     = errors.New("the disk of the database is full")
)

// diskFull is the code of an error for want of space on the disk.
const diskFull = "53100"

// CheckWritable returns ErrReadOnly if the server is a standby or transactions are read-only by default, ErrFull if no
// space is left on its disk, and any other error if it does not answer. It leaves nothing in the database.
func (db *DB) CheckWritable(ctx context.Context) error {
	var readOnly bool
	var batch pgx.Batch
	// The rows of a look-up that exceed this memory go to a temporary file, which needs space like any other.
	batch.Queue(`SELECT set_config('work_mem', '64kB', true)`)
	batch.Queue(`SELECT count(*) FROM generate_series(1, 20000)`)
	batch.Queue(`SELECT pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean`).QueryRow(
		func(row pgx.Row) error { return row.Scan(&readOnly) })
	err := db.Pool.SendBatch(ctx, &batch).Close()
	if pgErr, ok := errors.AsType[*pgconn.PgError](err); ok && pgErr.Code == diskFull {
		return ErrFull
	}
	if err != nil {
		return fmt.Errorf("check whether the database can be written to: %w", err)
	}
	if readOnly {
		return ErrReadOnly
	}
	return nil
}
