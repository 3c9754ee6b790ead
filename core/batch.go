package core

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Batch collects statements of one transaction that are sent in one round trip. Only a transaction
// makes one, so what is queued cannot run outside of it.
type Batch struct {
	tx    Tx
	batch pgx.Batch
}

// NewBatch returns an empty batch of the transaction.
func (tx Tx) NewBatch() *Batch {
	return &Batch{tx: tx}
}

// Queue adds a statement whose rows nobody needs.
func (b *Batch) Queue(query string, args ...any) {
	b.batch.Queue(query, args...)
}

// QueueRows adds a statement whose rows are read when the batch is sent.
func (b *Batch) QueueRows(read func(rows pgx.Rows) error, query string, args ...any) {
	b.batch.Queue(query, args...).Query(read)
}

// Send runs the statements in their order; the first error ends it.
func (b *Batch) Send(ctx context.Context) error {
	if b.batch.Len() == 0 {
		return nil
	}
	if err := b.tx.session.SendBatch(ctx, &b.batch).Close(); err != nil {
		return fmt.Errorf("run a batch of %d statements: %w", b.batch.Len(), err)
	}
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
		return nil
	case !committing && isAborted(err):
		return fmt.Errorf("run a batch of %d statements: %w", b.batch.Len(), err)
	default:
		return commitError(err)
	}
}

// isAborted reports whether the server has refused a statement and stays connected. It skips what follows in the
// pipeline. Whatever ends the connection may as well be a pooler's word, which knows nothing of the COMMIT.
func isAborted(err error) bool {
	pgErr, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pgErr.SeverityUnlocalized == "ERROR"
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
