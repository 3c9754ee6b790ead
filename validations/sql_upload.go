package validations

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core/db"
)

// ReadChunk reads the chunk of an upload that holds a byte, and the offset of the chunk.
func ReadChunk(ctx context.Context, database *db.DB, orgID, id uuid.UUID, at int64) (int64, []byte, error) {
	var begin int64
	var chunk []byte
	err := database.Pool.QueryRow(ctx, `
		SELECT first_byte, bytes FROM upload_chunks WHERE org_id = $1 AND upload_id = $2 AND first_byte <= $3
		ORDER BY first_byte DESC LIMIT 1`, orgID, id, at).Scan(&begin, &chunk)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && at >= begin+int64(len(chunk)) {
		err = ErrUploadGone
	}
	return begin, chunk, err
}
