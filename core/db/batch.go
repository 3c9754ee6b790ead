package db

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Batch collects statements of one transaction that are sent in one round trip. Only a transaction
// makes one, so what is queued cannot run outside of it.
type Batch struct {
	tx    Tx
	batch pgx.Batch
	sent  bool
}

// NewBatch returns an empty batch of the transaction.
func (tx Tx) NewBatch() *Batch {
	return &Batch{tx: tx}
}

// Queue adds a statement whose rows are not needed.
func (b *Batch) Queue(query string, args ...any) {
	b.batch.Queue(query, args...)
}

// QueueInto adds a statement and returns its rows as collect reads them, once the batch was sent.
func QueueInto[T any](
	b *Batch, collect func(rows pgx.Rows) (T, error), query string, args ...any,
) *Future[T] {
	result := &Future[T]{sent: &b.sent}
	b.batch.Queue(query, args...).Query(func(rows pgx.Rows) error {
		value, err := collect(rows)
		result.value = value
		return err
	})
	return result
}

// Send runs the statements in their order; the first error ends it.
func (b *Batch) Send(ctx context.Context) error {
	if b.batch.Len() == 0 {
		return nil
	}
	if err := b.tx.session.SendBatch(ctx, &b.batch).Close(); err != nil {
		return fmt.Errorf("run a batch of %d statements: %w", b.batch.Len(), err)
	}
	b.sent = true
	return nil
}

// commit runs the statements and commits the transaction, all in one round trip.
func (b *Batch) commit(ctx context.Context) error {
	committing := false
	b.batch.Queue("commit").Fn = func(results pgx.BatchResults) error {
		committing = true
		tag, err := results.Exec()
		if err == nil && tag.String() != "COMMIT" {
			return pgx.ErrTxCommitRollback
		}
		return err
	}
	err := b.tx.session.SendBatch(ctx, &b.batch).Close()
	switch {
	case err == nil:
		b.sent = true
		return nil
	case !committing && isAborted(err) && !isServerLost(err):
		return fmt.Errorf("run a batch of %d statements: %w", b.batch.Len(), err)
	default:
		return commitError(err)
	}
}

// commitError marks the error of a COMMIT as ErrOutcomeUnknown unless the server has certainly rolled back. A server
// that fails while it writes the commit (FATAL, PANIC) may find the transaction committed when it recovers.
func commitError(err error) error {
	if errors.Is(err, pgx.ErrTxCommitRollback) || isAborted(err) && !isConnectionFault(err) {
		return fmt.Errorf("commit: %w", err)
	}
	return fmt.Errorf("commit: %w: %w", ErrOutcomeUnknown, err)
}

// isAborted reports whether the server has refused a statement and keeps the session, so the transaction is undone.
// PostgreSQL makes every error that comes after the commit record a PANIC. Servers and poolers that do not send the
// severity in its untranslated form are not believed.
func isAborted(err error) bool {
	pgErr, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pgErr.SeverityUnlocalized == "ERROR"
}

// isServerLost reports whether an error of a statement may come from a pooler that has lost its server, and with it the
// answers to everything that it had passed on, COMMIT included. With 57014 it is the server that cancels a statement.
func isServerLost(err error) bool {
	pgErr, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pgErr.Code != "57014" && isConnectionFault(err)
}

// isConnectionFault reports whether an error may come from a pooler that has lost its server (classes 08, 57 and 58),
// and which therefore knows nothing about the COMMIT, whatever severity it gives. A server refuses a COMMIT with one
// of these only when it was told to cancel, because statement_timeout ends before the commit begins.
func isConnectionFault(err error) bool {
	pgErr, ok := errors.AsType[*pgconn.PgError](err)
	return ok && slices.Contains([]string{"08", "57", "58"}, class(pgErr))
}

var errNotSent = errors.New("the statement was not sent yet")

// Future is what a queued statement will have answered once its batch or its loader was sent. Beside the variables that
// AllInto and OneInto collect into, it is the only kind of value that is filled in later.
type Future[T any] struct {
	// sent is the batch's or the loader's, and nil for a value that was known from the beginning.
	sent  *bool
	value T
}

// Known returns a future whose value needs no statement.
func Known[T any](value T) *Future[T] {
	return &Future[T]{value: value}
}

// Get returns the value. It is an error to ask before the statement was sent.
func (f *Future[T]) Get() (T, error) {
	if f.sent != nil && !*f.sent {
		var none T
		return none, errNotSent
	}
	return f.value, nil
}
