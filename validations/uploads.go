package validations

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// errUnread means that a document could not be read from the database, which is nobody's fault and may pass.
var errUnread = errors.New("the document could not be read")

// queueAdoptions keeps the uploads of prepared runs from being swept. It takes no notice of one that has been swept:
// there, or where somebody has it already, the constraints of the submissions refuse.
func queueAdoptions(batch *db.Batch, prepared []Prepared) {
	var orgs, uploads []uuid.UUID
	for _, p := range prepared {
		if p.Submission.UploadID != nil {
			orgs, uploads = append(orgs, p.Submission.OrgID), append(uploads, *p.Submission.UploadID)
		}
	}
	if len(uploads) == 0 {
		return
	}
	batch.Queue(`
		UPDATE uploads AS u SET sweep_after = NULL FROM unnest($1::uuid[], $2::uuid[]) AS a (org_id, id)
		WHERE u.org_id = a.org_id AND u.id = a.id`, orgs, uploads)
}

// IsUploadGone reports whether a run was refused because its document, which was taken in before, is not there any
// more.
func IsUploadGone(err error) bool {
	return db.ViolatedConstraint(err) == "fk_submissions_upload"
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

// upload is a document in chunks. It is read from the database as it is asked for, and one chunk of it is in memory.
type upload struct {
	size int64
	// read returns the chunk with a byte, and where it begins.
	read func(at int64) (int64, []byte, error)

	mu    sync.Mutex
	begin int64
	chunk []byte
}

// uploadOf returns the content of an upload, which can be read as long as the context lasts.
func (s *Service) uploadOf(ctx context.Context, orgID, id uuid.UUID, size int64) *upload {
	return &upload{size: size, read: func(at int64) (int64, []byte, error) {
		var begin int64
		var chunk []byte
		err := s.db.Pool.QueryRow(ctx, `
			SELECT first_byte, bytes FROM upload_chunks WHERE org_id = $1 AND upload_id = $2 AND first_byte <= $3
			ORDER BY first_byte DESC LIMIT 1`, orgID, id, at).Scan(&begin, &chunk)
		if errors.Is(err, pgx.ErrNoRows) || err == nil && at >= begin+int64(len(chunk)) {
			err = errUploadGone
		}
		if err != nil {
			// Only told and not wrapped: the io.EOF of a broken connection is not the end of the document.
			return 0, nil, fmt.Errorf("%w: byte %d of upload %s: %s", errUnread, at, id, err.Error())
		}
		return begin, chunk, nil
	}}
}

// ReadAt reads a part of the document.
func (u *upload) ReadAt(p []byte, off int64) (int, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	n := 0
	for n < len(p) {
		at := off + int64(n)
		if at >= u.size {
			return n, io.EOF
		}
		if at < u.begin || at >= u.begin+int64(len(u.chunk)) {
			var err error
			if u.begin, u.chunk, err = u.read(at); err != nil {
				return n, err
			}
		}
		n += copy(p[n:], u.chunk[at-u.begin:])
	}
	return n, nil
}

// inMemory returns a document that does not need the database to be read any more.
func inMemory(document engines.Document) (engines.Document, error) {
	if _, ok := document.Content.(*upload); !ok {
		return document, nil
	}
	content := make([]byte, document.Size)
	if _, err := io.ReadFull(io.NewSectionReader(document.Content, 0, document.Size), content); err != nil {
		return engines.Document{}, fmt.Errorf("read a document into memory: %w", err)
	}
	document.Content = bytes.NewReader(content)
	return document, nil
}
