package core

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
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

// Send runs the statements in their order; the first error ends it.
func (b *Batch) Send(ctx context.Context) error {
	if b.batch.Len() == 0 {
		return nil
	}
	if err := b.tx.pgx.SendBatch(ctx, &b.batch).Close(); err != nil {
		return fmt.Errorf("run a batch of %d statements: %w", b.batch.Len(), err)
	}
	return nil
}
