package core

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Reads collect look-ups that go to the database in one round trip, outside of a transaction. Each sees the
// database as it is when its turn comes.
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
