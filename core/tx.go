package core

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"gorm.io/gorm"
)

// ErrOutcomeUnknown says that the connection was lost while COMMIT was under way: the transaction may
// have happened or not, and repeating it could make it happen twice.
var ErrOutcomeUnknown = errors.New("the outcome of the commit is unknown")

const (
	maxAttempts     = 3
	rollbackTimeout = 2 * time.Second
)

// Tx is an open transaction at READ COMMITTED. Only InTx makes one, so a function that takes a Tx
// cannot be called outside of a transaction.
type Tx struct {
	pgx  pgx.Tx
	conn *sql.Conn
	base *gorm.DB
}

// Exec runs one statement.
func (tx Tx) Exec(ctx context.Context, query string, args ...any) (pgconn.CommandTag, error) {
	return tx.pgx.Exec(ctx, query, args...)
}

// Query runs one statement that returns rows.
func (tx Tx) Query(ctx context.Context, query string, args ...any) (pgx.Rows, error) {
	return tx.pgx.Query(ctx, query, args...)
}

// QueryRow runs one statement that returns at most one row.
func (tx Tx) QueryRow(ctx context.Context, query string, args ...any) pgx.Row {
	return tx.pgx.QueryRow(ctx, query, args...)
}

// CopyFrom inserts many rows with COPY.
func (tx Tx) CopyFrom(ctx context.Context, table string, columns []string, rows pgx.CopyFromSource) (int64, error) {
	return tx.pgx.CopyFrom(ctx, pgx.Identifier{table}, columns, rows)
}

// Gorm returns a GORM handle that works inside the transaction.
func (tx Tx) Gorm(ctx context.Context) *gorm.DB {
	session := tx.base.Session(&gorm.Session{NewDB: true, Context: ctx})
	session.Statement.ConnPool = tx.conn
	return session
}

// InTx runs fn in a transaction and commits it. When the database asks for it (serialization failure, deadlock), and
// when the connection is lost before COMMIT was sent, the whole is repeated, so fn may run more than once: it touches
// only tx and returns its result.
//
// An error from COMMIT that does not come from the database itself is ErrOutcomeUnknown, and nothing is repeated.
func InTx[T any](ctx context.Context, db *DB, fn func(tx Tx) (T, error)) (T, error) {
	for attempt := 1; ; attempt++ {
		result, err := inTxOnce(ctx, db, fn)
		if err == nil || attempt == maxAttempts || !isRepeatable(err) {
			return result, err
		}
	}
}

// isRepeatable reports whether a transaction has certainly left nothing behind and may succeed at once.
func isRepeatable(err error) bool {
	return IsContention(err) || isConnectionLost(err) && !errors.Is(err, ErrOutcomeUnknown)
}

func inTxOnce[T any](ctx context.Context, db *DB, fn func(tx Tx) (T, error)) (T, error) {
	var zero T
	conn, err := db.SQL.Conn(ctx)
	if err != nil {
		return zero, fmt.Errorf("take a connection: %w", err)
	}
	// Closing gives the connection back; a broken one is thrown away by the pool.
	defer func() { _ = conn.Close() }()
	pgxTx, err := beginOn(ctx, conn, db.begin)
	if err != nil {
		return zero, fmt.Errorf("begin: %w", err)
	}
	// After a commit this does nothing. It must also run when the caller has gone or fn panics.
	defer func() {
		rollbackCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTimeout)
		defer cancel()
		_ = pgxTx.Rollback(rollbackCtx)
	}()
	result, err := fn(Tx{pgx: pgxTx, conn: conn, base: db.Gorm})
	if err != nil {
		return zero, err
	}
	if err := pgxTx.Commit(ctx); err != nil {
		return zero, commitError(err)
	}
	return result, nil
}

func beginOn(ctx context.Context, conn *sql.Conn, query string) (pgx.Tx, error) {
	var tx pgx.Tx
	err := conn.Raw(func(driverConn any) error {
		pgxConn, ok := driverConn.(*stdlib.Conn)
		if !ok {
			return fmt.Errorf("unexpected driver connection %T", driverConn)
		}
		var err error
		tx, err = pgxConn.Conn().BeginTx(ctx, pgx.TxOptions{BeginQuery: query})
		return err
	})
	return tx, err
}

// commitError tells a commit that certainly failed from one whose outcome is unknown. Certain are the
// database's own refusals (a deferred constraint, a serialization failure); a lost connection, a
// deadline and a server that is going down (class 57) leave it open.
func commitError(err error) error {
	if errors.Is(err, pgx.ErrTxCommitRollback) {
		return fmt.Errorf("commit: %w", err)
	}
	if pgErr, ok := errors.AsType[*pgconn.PgError](err); ok && class(pgErr) != "57" && class(pgErr) != "08" {
		return fmt.Errorf("commit: %w", err)
	}
	return fmt.Errorf("commit: %w: %w", ErrOutcomeUnknown, err)
}
