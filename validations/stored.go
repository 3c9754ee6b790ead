package validations

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/validations/objects"
)

// StoredDocument is the document of a run as it is kept. Content can be read until the context ends with which the
// document was opened.
type StoredDocument struct {
	Submission

	Content io.ReaderAt
}

// OpenDocument returns the document of a run. One that the purge has removed is refused with document_gone.
func (s *Service) OpenDocument(ctx context.Context, run Run) (StoredDocument, error) {
	submission, err := gorm.G[Submission](s.db.Gorm).
		Where("org_id = ? AND id = ?", run.OrgID, run.SubmissionID).Take(ctx)
	if err != nil && !errors.Is(err, gorm.ErrRecordNotFound) {
		return StoredDocument{}, fmt.Errorf("read submission %s: %w", run.SubmissionID, err)
	}
	stored := StoredDocument{Submission: submission}
	switch {
	case submission.UploadID != nil:
		stored.Content = NewUpload(submission.Size, s.chunks(ctx, run.OrgID, *submission.UploadID))
	case submission.Content != nil:
		stored.Content = bytes.NewReader(submission.Content)
	default:
		return StoredDocument{}, core.NewError(api.CodeDocumentGone,
			"The run's document is no longer kept: its retention time has ended. The findings may still be stored.")
	}
	return stored, nil
}

// chunks reads an upload. What is missing was purged after the submission was read.
func (s *Service) chunks(ctx context.Context, orgID, id uuid.UUID) func(at int64) (int64, []byte, error) {
	return func(at int64) (int64, []byte, error) {
		begin, chunk, err := s.ReadChunk(ctx, orgID, id, at)
		switch {
		case errors.Is(err, ErrUploadGone):
			err = core.NewError(api.CodeDocumentGone, "The run's document was removed while it was read.")
		case errors.Is(err, objects.ErrUnavailable):
			err = core.Unavailable(err)
		case err != nil:
			// The cause is not wrapped: the io.EOF of a broken connection is not the end of the document.
			err = fmt.Errorf("read byte %d of upload %s: %s", at, id, err.Error())
		}
		return begin, chunk, err
	}
}

// Upload is a document in chunks, which are read on demand. One chunk is in memory at a time.
type Upload struct {
	size int64
	// read returns the chunk that holds a byte, and the offset of the chunk.
	read func(at int64) (int64, []byte, error)

	mu    sync.Mutex
	begin int64
	chunk []byte
}

// NewUpload makes an upload of that size. read returns the chunk that holds a byte, and the offset of the chunk.
func NewUpload(size int64, read func(at int64) (int64, []byte, error)) *Upload {
	return &Upload{size: size, read: read}
}

// ReadAt reads a part of the document.
func (u *Upload) ReadAt(p []byte, off int64) (int, error) {
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
