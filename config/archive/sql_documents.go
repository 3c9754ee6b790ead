package archive

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core/db"
)

// document is one in chunks.
type document struct {
	Submission, Upload uuid.UUID
	Size               int64
	SHA256             []byte
}

// verifyDocuments compares the documents in chunks with their digests, chunk by chunk, but for those that were compared
// before.
func (i *importer) verifyDocuments(ctx context.Context, compared []uuid.UUID) error {
	rows, err := i.database.Pool.Query(ctx, `SELECT id, upload_id, size, sha256 FROM submissions
		WHERE org_id = $1 AND upload_id IS NOT NULL AND id <> ALL ($2)`, i.header.Organization, db.IDs(compared))
	if err != nil {
		return fmt.Errorf("list documents: %w", err)
	}
	documents, err := pgx.CollectRows(rows, pgx.RowToStructByPos[document])
	if err != nil {
		return fmt.Errorf("list documents: %w", err)
	}
	for _, d := range documents {
		if err := i.verifyDocument(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

func (i *importer) verifyDocument(ctx context.Context, d document) error {
	rows, err := i.database.Pool.Query(ctx, `SELECT first_byte, bytes FROM upload_chunks
		WHERE org_id = $1 AND upload_id = $2 ORDER BY first_byte`, i.header.Organization, d.Upload)
	if err != nil {
		return fmt.Errorf("read a document: %w", err)
	}
	digest := sha256.New()
	var at, first int64
	var chunk []byte
	_, err = pgx.ForEachRow(rows, []any{&first, &chunk}, func() error {
		if first != at {
			return fmt.Errorf("%w: submission %s has a gap", ErrDamaged, d.Submission)
		}
		at += int64(len(chunk))
		digest.Write(chunk)
		return nil
	})
	if err != nil {
		return fmt.Errorf("verify a document: %w", err)
	}
	if at != d.Size || !bytes.Equal(digest.Sum(nil), d.SHA256) {
		return fmt.Errorf("%w: the document of submission %s does not have its digest", ErrDamaged, d.Submission)
	}
	return nil
}
