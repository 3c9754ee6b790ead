package execution

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/engines"
)

var (
	// errUnread means that the database could not be read. The cause may pass, so the run is retried.
	errUnread       = errors.New("the document could not be read")
	errDocumentGone = errors.New("the document is no longer kept")
)

// document is what the run's steps read, as long as the context lasts.
func (e *Executor) document(ctx context.Context, held lease) (engines.Document, error) {
	submission := held.submission
	document := engines.Document{
		Size: submission.Size, MediaType: submission.MediaType, Filename: submission.Filename,
	}
	switch {
	case submission.UploadID != nil:
		document.Content = e.uploadOf(ctx, held.run.OrgID, *submission.UploadID, submission.Size)
	case submission.Content == nil:
		return engines.Document{}, errDocumentGone
	default:
		document.Content = bytes.NewReader(submission.Content)
	}
	return document, nil
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
func (e *Executor) uploadOf(ctx context.Context, orgID, id uuid.UUID, size int64) *upload {
	return &upload{size: size, read: func(at int64) (int64, []byte, error) {
		var begin int64
		var chunk []byte
		err := e.db.Pool.QueryRow(ctx, `
			SELECT first_byte, bytes FROM upload_chunks WHERE org_id = $1 AND upload_id = $2 AND first_byte <= $3
			ORDER BY first_byte DESC LIMIT 1`, orgID, id, at).Scan(&begin, &chunk)
		if errors.Is(err, pgx.ErrNoRows) || err == nil && at >= begin+int64(len(chunk)) {
			err = validations.ErrUploadGone
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
