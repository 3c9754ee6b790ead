package validations

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
)

// lazily spares a commit its wait for the disk. The start that adopts the upload does wait, and by then all that was
// committed before it is on the disk too.
const lazily = "SET LOCAL synchronous_commit = off"

func (in *Intake) append(ctx context.Context, id uuid.UUID, firstByte int64, chunk []byte) error {
	if in.db == nil {
		return nil
	}
	_, err := db.InTx(ctx, in.db, func(tx db.Tx) (struct{}, error) {
		batch := tx.NewBatch()
		batch.Queue(lazily)
		batch.Queue(`
			INSERT INTO uploads (org_id, id) VALUES ($1, $2)
			ON CONFLICT (org_id, id) DO UPDATE SET sweep_after = excluded.sweep_after`, in.orgID, id)
		batch.Queue(`INSERT INTO upload_chunks (org_id, upload_id, first_byte, bytes) VALUES ($1, $2, $3, $4)`,
			in.orgID, id, firstByte, chunk)
		return struct{}{}, batch.Send(ctx)
	})
	return notKept(err)
}

// seal says that the upload is whole, if it is: chunks that were committed lazily may have been lost since, and all of
// them may have been swept while the process was frozen.
func (in *Intake) seal(ctx context.Context, id uuid.UUID, size int64) error {
	if in.db == nil {
		return nil
	}
	_, err := db.InTx(ctx, in.db, func(tx db.Tx) (struct{}, error) {
		if _, err := tx.Exec(ctx, lazily); err != nil {
			return struct{}{}, err
		}
		tag, err := tx.Exec(ctx, `
			UPDATE uploads SET size = $3
			WHERE org_id = $1 AND id = $2 AND size IS NULL AND $3 = (SELECT sum(octet_length(bytes)) FROM upload_chunks
				WHERE org_id = $1 AND upload_id = $2)`, in.orgID, id, size)
		if err == nil && tag.RowsAffected() == 0 {
			err = ErrUploadGone
		}
		return struct{}{}, err
	})
	return notKept(err)
}

// notKept tells the client that its document could not be kept.
func notKept(err error) error {
	if err == nil {
		return nil
	}
	return core.Unavailable(fmt.Errorf("keep a document: %w", err))
}

// deleteUploads deletes the uploads that no run has adopted. It skips an upload that a transaction is adopting.
func (in *Intake) deleteUploads(ctx context.Context) error {
	_, err := db.InTx(ctx, in.db, func(tx db.Tx) (struct{}, error) {
		_, err := tx.Exec(ctx, `
			DELETE FROM uploads WHERE (org_id, id) IN (SELECT org_id, id FROM uploads
				WHERE org_id = $1 AND id = ANY($2) AND sweep_after IS NOT NULL FOR UPDATE SKIP LOCKED)`,
			in.orgID, in.uploads)
		return struct{}{}, err
	})
	return err
}

// uploadBatch keeps the transactions of the sweep short: an upload may have many megabytes.
const uploadBatch = 10

// SweepUploads deletes uploads that no run has adopted within an hour, or whose time is over. It passes over what is
// being adopted right now, and returns how many it deleted.
func (s *Service) SweepUploads(ctx context.Context) (int, error) {
	swept, err := db.InTx(ctx, s.db, func(tx db.Tx) (int64, error) {
		tag, err := tx.Exec(ctx, `
			DELETE FROM uploads WHERE (org_id, id) IN (SELECT org_id, id FROM uploads
				WHERE sweep_after <= now() ORDER BY sweep_after LIMIT $1 FOR UPDATE SKIP LOCKED)`, uploadBatch)
		return tag.RowsAffected(), err
	})
	if err != nil {
		return 0, fmt.Errorf("sweep uploads: %w", err)
	}
	return int(swept), nil
}
