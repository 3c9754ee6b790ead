package db

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

// ErrOutcomeUnknown says that the connection or the server was lost while COMMIT was under way: the transaction may
// have happened or not, and repeating it could make it happen twice.
var ErrOutcomeUnknown = errors.New("the outcome of the commit is unknown")

const (
	// maxAttempts is small because each repetition adds to the contention that caused it.
	maxAttempts = 3
	// rollbackTimeout may be short: the pool closes a connection that is still in a transaction, which ends it as well.
	rollbackTimeout = 2 * time.Second
	// idle is how PostgreSQL calls a session without a transaction.
	idle = 'I'
)

// Tx is an open transaction at READ COMMITTED. Only InTx and its kin make one, so a function that takes a Tx cannot
// be called outside of a transaction.
type Tx struct {
	session *pgx.Conn
}

// GormTx is a transaction in which models can be written, too.
type GormTx struct {
	Tx

	conn *sql.Conn
	base *gorm.DB
}

// Exec runs one statement.
func (tx Tx) Exec(ctx context.Context, query string, args ...any) (pgconn.CommandTag, error) {
	return tx.session.Exec(ctx, query, args...)
}

// Query runs one statement that returns rows.
func (tx Tx) Query(ctx context.Context, query string, args ...any) (pgx.Rows, error) {
	return tx.session.Query(ctx, query, args...)
}

// QueryRow runs one statement that returns at most one row.
func (tx Tx) QueryRow(ctx context.Context, query string, args ...any) pgx.Row {
	return tx.session.QueryRow(ctx, query, args...)
}

// Gorm returns a GORM handle that works inside the transaction.
func (tx GormTx) Gorm(ctx context.Context) *gorm.DB {
	session := tx.base.Session(&gorm.Session{NewDB: true, Context: ctx})
	session.Statement.ConnPool = tx.conn
	return session
}

// InTx runs fn in a transaction and commits it. When the database asks for it (serialization failure, deadlock, a plan
// that a migration has changed), the whole is repeated, three attempts in all. So fn may run more than once: it touches
// only tx and returns its result.
//
// An error from COMMIT is ErrOutcomeUnknown unless the server says that it has rolled back. After an unknown outcome
// nothing is repeated.
func InTx[T any](ctx context.Context, db *DB, fn func(tx Tx) (T, error)) (T, error) {
	return InPipeline(ctx, db, noOpening, func(tx Tx, _ struct{}, _ *Batch) (T, error) { return fn(tx) })
}

// Do is InTx for a transaction that answers nothing.
func Do(ctx context.Context, db *DB, fn func(tx Tx) error) error {
	_, err := InTx(ctx, db, func(tx Tx) (struct{}, error) { return struct{}{}, fn(tx) })
	return err
}

// InGormTx is InTx for transactions that also write models. It goes through database/sql, which costs more than a hot
// path should pay.
func InGormTx[T any](ctx context.Context, db *DB, fn func(tx GormTx) (T, error)) (T, error) {
	return repeat(func() (T, error) {
		var zero T
		conn, err := db.SQL.Conn(ctx)
		if err != nil {
			return zero, fmt.Errorf("take a connection: %w", err)
		}
		// Closing gives the connection back; a broken one is thrown away by the pool.
		defer func() { _ = conn.Close() }()
		session, err := sessionOf(conn)
		if err != nil {
			return zero, err
		}
		defer rollBack(ctx, session)
		return pipeline(ctx, db, Tx{session}, noOpening, func(tx Tx, _ struct{}, _ *Batch) (T, error) {
			return fn(GormTx{Tx: tx, conn: conn, base: db.Gorm})
		})
	})
}

// DoGorm is InGormTx for a transaction that answers nothing.
func DoGorm(ctx context.Context, db *DB, fn func(tx GormTx) error) error {
	_, err := InGormTx(ctx, db, func(tx GormTx) (struct{}, error) { return struct{}{}, fn(tx) })
	return err
}

// InPipeline is InTx in as few as two round trips. What open queues travels with BEGIN, and what it returns is for fn,
// which runs when those statements have been answered; what fn queues travels with COMMIT. Both may run more than once.
//
// An error of a statement that travels with COMMIT is as certain as any other, because the server then skips the
// COMMIT. A connection that is lost while they are under way, or a pooler's server, leaves the outcome unknown.
func InPipeline[O, T any](
	ctx context.Context, db *DB, open func(batch *Batch) O, fn func(tx Tx, opened O, last *Batch) (T, error),
) (T, error) {
	return transact(ctx, db, func(tx Tx) (T, error) { return pipeline(ctx, db, tx, open, fn) })
}

func noOpening(*Batch) struct{} { return struct{}{} }

func pipeline[O, T any](
	ctx context.Context, db *DB, tx Tx, open func(*Batch) O, fn func(Tx, O, *Batch) (T, error),
) (T, error) {
	var zero T
	first := tx.NewBatch()
	db.begin.queue(first)
	opened := open(first)
	if err := first.Send(ctx); err != nil {
		return zero, fmt.Errorf("begin: %w", err)
	}
	last := tx.NewBatch()
	result, err := fn(tx, opened, last)
	if err != nil {
		return zero, err
	}
	return result, last.commit(ctx)
}

// InBatch is InTx in one round trip, for statements that are known beforehand: what queue queues travels with BEGIN and
// COMMIT. It returns what queue returned, which holds what the statements have answered. A connection that is lost
// meanwhile leaves the outcome unknown.
func InBatch[T any](ctx context.Context, db *DB, queue func(batch *Batch) T) (T, error) {
	return transact(ctx, db, func(tx Tx) (T, error) {
		batch := tx.NewBatch()
		db.begin.queue(batch)
		result := queue(batch)
		return result, batch.commit(ctx)
	})
}

// transact runs a transaction on a connection of the pool, as often as it takes.
func transact[T any](ctx context.Context, db *DB, fn func(tx Tx) (T, error)) (T, error) {
	return repeat(func() (T, error) {
		conn, err := db.Pool.Acquire(ctx)
		if err != nil {
			var zero T
			return zero, fmt.Errorf("take a connection: %w", err)
		}
		// The pool throws a connection away that is broken or still inside of a transaction.
		defer conn.Release()
		defer rollBack(ctx, conn.Conn())
		return fn(Tx{conn.Conn()})
	})
}

// repeat runs a transaction until it succeeds or repeating it makes no sense any more.
func repeat[T any](once func() (T, error)) (T, error) {
	for attempt := 1; ; attempt++ {
		result, err := once()
		if err == nil {
			return result, nil
		}
		if attempt == maxAttempts || !isRepeatable(err) {
			var zero T
			return zero, err
		}
	}
}

// isRepeatable reports whether a transaction has certainly left nothing behind and may succeed at once. One whose
// connection was lost may still hold its locks, as the server need not have noticed: its repetition would wait for
// itself, or take itself for another request.
func isRepeatable(err error) bool {
	return IsContention(err) || isPlanChanged(err)
}

func sessionOf(conn *sql.Conn) (*pgx.Conn, error) {
	var session *pgx.Conn
	err := conn.Raw(func(driverConn any) error {
		pgxConn, ok := driverConn.(*stdlib.Conn)
		if !ok {
			return fmt.Errorf("unexpected driver connection %T", driverConn)
		}
		session = pgxConn.Conn()
		return nil
	})
	return session, err
}

// rollBack ends a transaction that was not committed, also when the caller has gone or its function panics. Where that
// fails, the pool throws the connection away.
func rollBack(ctx context.Context, session *pgx.Conn) {
	if session.IsClosed() || session.PgConn().TxStatus() == idle {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTimeout)
	defer cancel()
	_, _ = session.Exec(ctx, "rollback")
}
