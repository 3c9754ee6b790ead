package archive

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/objects"
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
	documents, err := db.All(ctx, i.database.Pool, pgx.RowToStructByPos[document], `
		SELECT id, upload_id, size, sha256 FROM submissions
		WHERE org_id = $1 AND upload_id IS NOT NULL AND id <> ALL ($2)`, i.header.Organization, db.IDs(compared))
	if err != nil {
		return fmt.Errorf("list documents: %w", err)
	}
	var group errgroup.Group
	group.SetLimit(objectsAtOnce)
	for _, d := range documents {
		group.Go(func() error { return i.verifyDocument(ctx, d) })
	}
	return group.Wait()
}

func (i *importer) verifyDocument(ctx context.Context, d document) error {
	digest := sha256.New()
	var at int64
	for {
		first, chunk, err := validations.ReadChunk(ctx, i.database, i.objects, i.header.Organization, d.Upload, at)
		if errors.Is(err, validations.ErrUploadGone) {
			break
		}
		if err != nil {
			return fmt.Errorf("verify a document: %w", err)
		}
		if first != at {
			return fmt.Errorf("%w: submission %s has chunks that overlap", ErrDamaged, d.Submission)
		}
		at += int64(len(chunk))
		digest.Write(chunk)
	}
	if at != d.Size || !bytes.Equal(digest.Sum(nil), d.SHA256) {
		return fmt.Errorf("%w: the document of submission %s does not have its digest", ErrDamaged, d.Submission)
	}
	return nil
}

// Place is where an organization is: the database and the object store of an installation, nil where it has none.
type Place struct {
	DB      *db.DB
	Objects *objects.Store
}

// objectsAtOnce are got or put at once. An export holds that many in memory.
const objectsAtOnce = 16

// writeObjects writes the chunks of the object store like those of the database.
func (e exporter) writeObjects(ctx context.Context) error {
	have := []uuid.UUID(nil)
	if e.part != nil {
		have = e.part.have
	}
	last := objects.Chunk{FirstByte: -1}
	for {
		chunks, err := db.All(ctx, e.tx, pgx.RowToStructByPos[objects.Chunk], `
			SELECT r.org_id, r.upload_id, r.first_byte, r.size, r.sha256 FROM upload_objects AS r
			JOIN uploads AS u ON u.org_id = r.org_id AND u.id = r.upload_id AND u.sweep_after IS NULL
			WHERE r.org_id = $1 AND (r.upload_id, r.first_byte) > ($2, $3) AND r.upload_id <> ALL ($4)
			ORDER BY r.upload_id, r.first_byte LIMIT $5`,
			e.orgID, last.UploadID, last.FirstByte, db.IDs(have), objectsAtOnce)
		if err != nil || len(chunks) == 0 {
			return refused(uploadChunks, err)
		}
		rows := make([][]byte, len(chunks))
		var group errgroup.Group
		for n, c := range chunks {
			group.Go(func() error {
				content, err := e.objects.Get(ctx, c)
				rows[n] = fmt.Appendf(nil, `{"org_id":"%s","upload_id":"%s","first_byte":%d,"bytes":"\\x%x"}`,
					c.OrgID, c.UploadID, c.FirstByte, content)
				return err
			})
		}
		if err := group.Wait(); err != nil {
			return fmt.Errorf("read a document: %w", err)
		}
		for _, row := range rows {
			if err := e.writeRow(uploadChunks, row); err != nil {
				return err
			}
		}
		last = chunks[len(chunks)-1]
	}
}

// putObjects puts chunks of the archive into the object store, and then their rows into the database. Their uploads are
// committed: they come before all chunks.
func (i *importer) putObjects(ctx context.Context) error {
	chunks := make([]objects.Chunk, len(i.rows))
	var group errgroup.Group
	group.SetLimit(objectsAtOnce)
	for n, row := range i.rows {
		group.Go(func() error {
			var chunk struct {
				Upload    uuid.UUID `json:"upload_id"`
				FirstByte int64     `json:"first_byte"`
				Bytes     string    `json:"bytes"`
			}
			if err := json.Unmarshal(row, &chunk); err != nil {
				return fmt.Errorf("%w: a chunk cannot be read: %w", ErrDamaged, err)
			}
			content, err := fromHex(chunk.Bytes)
			if err != nil {
				return err
			}
			chunks[n] = objects.NewChunk(i.header.Organization, chunk.Upload, chunk.FirstByte, content)
			return i.objects.Put(ctx, chunks[n], content)
		})
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("import a document: %w", err)
	}
	if err := i.claim(ctx); err != nil {
		return err
	}
	return refused(uploadObjects, objects.Insert(ctx, i.tx, chunks...))
}
