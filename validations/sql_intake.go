package validations

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/validations/objects"
)

// asynchronousCommit makes a commit not wait for the disk. The start that adopts the upload does wait, and its flush
// includes all earlier commits.
const asynchronousCommit = "SET LOCAL synchronous_commit = off"

func (in *Intake) append(ctx context.Context, id uuid.UUID, firstByte int64, chunk []byte) error {
	return db.Do(ctx, in.db, func(tx db.Tx) error {
		batch := tx.NewBatch()
		batch.Queue(asynchronousCommit)
		batch.Queue(`
			INSERT INTO uploads (org_id, id) VALUES ($1, $2)
			ON CONFLICT (org_id, id) DO UPDATE SET sweep_after = excluded.sweep_after`, in.orgID, id)
		batch.Queue(`INSERT INTO upload_chunks (org_id, upload_id, first_byte, bytes) VALUES ($1, $2, $3, $4)`,
			in.orgID, id, firstByte, chunk)
		return batch.Send(ctx)
	})
}

// put stores a chunk in the object store, and then its row. The upload is committed before its first object: one that
// is lost or swept meanwhile has no row again, so its chunk is refused, and the store's sweep may delete the object.
func (in *Intake) put(ctx context.Context, id uuid.UUID, firstByte int64, content []byte) error {
	if firstByte == 0 {
		err := db.Do(ctx, in.db, func(tx db.Tx) error {
			batch := tx.NewBatch()
			batch.Queue(asynchronousCommit)
			batch.Queue(`INSERT INTO uploads (org_id, id) VALUES ($1, $2)`, in.orgID, id)
			return batch.Send(ctx)
		})
		if err != nil {
			return err
		}
	}
	chunk := objects.NewChunk(in.orgID, id, firstByte, content)
	if err := in.objects.Put(ctx, chunk, content); err != nil {
		return err
	}
	return db.Do(ctx, in.db, func(tx db.Tx) error {
		batch := tx.NewBatch()
		batch.Queue(asynchronousCommit)
		batch.Queue(`UPDATE uploads SET sweep_after = DEFAULT WHERE org_id = $1 AND id = $2`, in.orgID, id)
		if err := batch.Send(ctx); err != nil {
			return err
		}
		return objects.Insert(ctx, tx, chunk)
	})
}

// seal sets the size of the upload if all its chunks are there. A crash of the database may have lost some, since their
// commits did not wait for the disk, and the sweep may have deleted all if the process was suspended for long.
func (in *Intake) seal(ctx context.Context, id uuid.UUID, size int64) error {
	if in.db == nil {
		return nil
	}
	err := db.Do(ctx, in.db, func(tx db.Tx) error {
		if _, err := tx.Exec(ctx, asynchronousCommit); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, `
			UPDATE uploads SET size = $3
			WHERE org_id = $1 AND id = $2 AND size IS NULL AND $3 = `+in.storedSize(), in.orgID, id, size)
		if err == nil && tag.RowsAffected() == 0 {
			err = ErrUploadGone
		}
		return err
	})
	return uploadFailed(err)
}

// storedSize is the size of all chunks of an upload, as SQL.
func (in *Intake) storedSize() string {
	if in.objects != nil {
		return `(SELECT sum(size) FROM upload_objects WHERE org_id = $1 AND upload_id = $2)`
	}
	return `(SELECT sum(octet_length(bytes)) FROM upload_chunks WHERE org_id = $1 AND upload_id = $2)`
}

// uploadFailed asks the client to retry.
func uploadFailed(err error) error {
	if err == nil {
		return nil
	}
	return core.Unavailable(fmt.Errorf("store a document: %w", err))
}

// deleteUploads deletes the uploads that no run has adopted. It skips an upload that a transaction is adopting.
func (in *Intake) deleteUploads(ctx context.Context) error {
	return db.Do(ctx, in.db, func(tx db.Tx) error {
		_, err := tx.Exec(ctx, `
			DELETE FROM uploads WHERE ctid = ANY (ARRAY(SELECT ctid FROM uploads
				WHERE org_id = $1 AND id = ANY($2) AND sweep_after IS NOT NULL FOR UPDATE SKIP LOCKED))`,
			in.orgID, in.uploads)
		return err
	})
}

// uploadBatch bounds the uploads that one transaction deletes: each may have many megabytes.
const uploadBatch = 10

// SweepUploads deletes uploads that no run has adopted within an hour, and purged ones. It skips an upload that a
// transaction is adopting, and returns how many it has deleted.
func (s *Service) SweepUploads(ctx context.Context) (int, error) {
	swept, err := db.InTx(ctx, s.db, func(tx db.Tx) (int64, error) {
		tag, err := tx.Exec(ctx, `
			DELETE FROM uploads WHERE ctid = ANY (ARRAY(SELECT ctid FROM uploads
				WHERE sweep_after <= now() ORDER BY sweep_after LIMIT $1 FOR UPDATE SKIP LOCKED))`, uploadBatch)
		return tag.RowsAffected(), err
	})
	if err != nil {
		return 0, fmt.Errorf("sweep uploads: %w", err)
	}
	return int(swept), nil
}

// ReadChunk reads the chunk of an upload that holds a byte, and the offset of the chunk.
func (s *Service) ReadChunk(ctx context.Context, orgID, id uuid.UUID, at int64) (int64, []byte, error) {
	return ReadChunk(ctx, s.db, s.store, orgID, id, at)
}

// ReadChunk reads a chunk from the database, or from the store. An upload may have chunks in both: an import that was
// interrupted may have gone on with another store.
func ReadChunk(
	ctx context.Context, database *db.DB, store *objects.Store, orgID, id uuid.UUID, at int64,
) (int64, []byte, error) {
	var begin int64
	var chunk []byte
	err := database.Pool.QueryRow(ctx, `
		SELECT first_byte, bytes FROM upload_chunks WHERE org_id = $1 AND upload_id = $2 AND first_byte <= $3
		ORDER BY first_byte DESC LIMIT 1`, orgID, id, at).Scan(&begin, &chunk)
	isThere := func() bool { return err == nil && at < begin+int64(len(chunk)) }
	if errors.Is(err, pgx.ErrNoRows) || err == nil && !isThere() {
		begin, chunk, err = store.Read(ctx, database, orgID, id, at)
	}
	if errors.Is(err, pgx.ErrNoRows) || err == nil && !isThere() {
		err = ErrUploadGone
	}
	return begin, chunk, err
}
