package execution

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/engines"
	"github.com/simplevalidations/simplevalidations/validations/objects"
)

var (
	// errUnread means that the document could not be read. The cause may pass, so the run is tried again.
	errUnread = errors.New("the document could not be read")
	// errStoreAway is errUnread while there is no object store. The attempt does not count.
	errStoreAway    = fmt.Errorf("%w for lack of the object store", errUnread)
	errDocumentGone = errors.New("the document is no longer kept")
)

// document returns the document that the steps of a run read. It can be read until the context ends.
func (e *Executor) document(ctx context.Context, leased lease) (engines.Document, error) {
	submission := leased.submission
	document := engines.Document{
		Size: submission.Size, MediaType: submission.MediaType, Filename: submission.Filename,
	}
	switch {
	case submission.UploadID != nil:
		document.Content = e.uploadOf(ctx, leased.run.OrgID, *submission.UploadID, submission.Size)
	case submission.Content == nil:
		return engines.Document{}, errDocumentGone
	default:
		document.Content = bytes.NewReader(submission.Content)
	}
	return document, nil
}

func (e *Executor) uploadOf(ctx context.Context, orgID, id uuid.UUID, size int64) *validations.Upload {
	return validations.NewUpload(size, func(at int64) (int64, []byte, error) {
		begin, chunk, err := e.runs.ReadChunk(ctx, orgID, id, at)
		switch {
		case errors.Is(err, objects.ErrUnavailable):
			return 0, nil, fmt.Errorf("%w: byte %d of upload %s: %s", errStoreAway, at, id, err.Error())
		case err != nil:
			// The cause is not wrapped: the io.EOF of a broken connection is not the end of the document.
			return 0, nil, fmt.Errorf("%w: byte %d of upload %s: %s", errUnread, at, id, err.Error())
		}
		return begin, chunk, nil
	})
}

// inMemory reads an uploaded document completely, so that using it cannot fail any more.
func inMemory(document engines.Document) (engines.Document, error) {
	if _, ok := document.Content.(*validations.Upload); !ok {
		return document, nil
	}
	content, err := document.ReadAll()
	if err != nil {
		return engines.Document{}, err
	}
	document.Content = bytes.NewReader(content)
	return document, nil
}
