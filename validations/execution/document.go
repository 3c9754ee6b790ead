package execution

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

var (
	// errUnread means that the database could not be read. The cause may pass, so the run is tried again.
	errUnread       = errors.New("the document could not be read")
	errDocumentGone = errors.New("the document is no longer kept")
)

// document returns the document that the steps of a run read. It can be read until the context ends.
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

// upload is a document in chunks, which are read from the database on demand. One chunk is in memory at a time.
type upload struct {
	size int64
	// read returns the chunk that holds a byte, and the offset of the chunk.
	read func(at int64) (int64, []byte, error)

	mu    sync.Mutex
	begin int64
	chunk []byte
}

func (e *Executor) uploadOf(ctx context.Context, orgID, id uuid.UUID, size int64) *upload {
	return &upload{size: size, read: func(at int64) (int64, []byte, error) {
		begin, chunk, err := e.readChunk(ctx, orgID, id, at)
		if err != nil {
			// The cause is not wrapped: the io.EOF of a broken connection is not the end of the document.
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

// inMemory reads an uploaded document completely, so that using it cannot fail any more.
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
