package validations

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
)

// MaxInlineBytes is the size up to which a document is part of its submission's row. A larger one is kept in chunks
// of this size.
const MaxInlineBytes = 256 << 10

// discardTimeout keeps the clean-up of a request that has failed from holding up its answer.
const discardTimeout = time.Second

// ErrUploadGone means that an upload is not whole: parts of it were swept, or lost in a crash of the database.
var ErrUploadGone = errors.New("the upload is not whole any more")

// Content is what a document consists of.
type Content struct {
	// Bytes is the document itself where it is small, and nil where it is not.
	Bytes []byte
	// UploadID is the upload that has a large document.
	UploadID uuid.UUID
	Size     int64
	SHA256   [sha256.Size]byte
}

// InlineContent is a document that becomes part of its submission's row.
func InlineContent(document []byte) Content {
	return Content{Bytes: document, Size: int64(len(document)), SHA256: sha256.Sum256(document)}
}

// Intake takes the documents of one request in as they arrive. A small one stays in memory. A large one goes to the
// database chunk by chunk, each committed before the next is read, and is an orphan until a run adopts it
// (Service.Create).
//
// The zero Intake keeps nothing of a large document but its size and digest. It is for a request whose answer is known
// already, and which only has to prove that it is the same.
type Intake struct {
	db      *db.DB
	orgID   uuid.UUID
	uploads []uuid.UUID
}

// NewIntake makes an Intake for documents of the organization.
func (s *Service) NewIntake(orgID uuid.UUID) *Intake {
	return &Intake{db: s.db, orgID: orgID}
}

// Read takes a document in that is read to its end and expected to have about sizeHint bytes. An error of the reader
// is returned wrapped, one of the database is a *core.Error.
func (in *Intake) Read(ctx context.Context, document io.Reader, sizeHint int64) (Content, error) {
	size := min(max(sizeHint, 0), MaxInlineBytes+1) + bytes.MinRead
	head := bytes.NewBuffer(make([]byte, 0, size))
	if _, err := head.ReadFrom(io.LimitReader(document, MaxInlineBytes+1)); err != nil {
		return Content{}, fmt.Errorf("read the document: %w", err)
	}
	if head.Len() <= MaxInlineBytes {
		return InlineContent(head.Bytes()), nil
	}
	return in.store(ctx, io.MultiReader(head, document))
}

// Take takes a document in that is in memory.
func (in *Intake) Take(ctx context.Context, document []byte) (Content, error) {
	if len(document) <= MaxInlineBytes {
		return InlineContent(document), nil
	}
	return in.store(ctx, bytes.NewReader(document))
}

// Discard deletes the uploads, but what a run has adopted or is about to. When it fails, they are swept later.
func (in *Intake) Discard(ctx context.Context) {
	if len(in.uploads) == 0 {
		return
	}
	// Often enough the request has ended because its client has gone.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), discardTimeout)
	defer cancel()
	_ = in.deleteUploads(ctx) // What is left is swept later.
}

func (in *Intake) store(ctx context.Context, document io.Reader) (Content, error) {
	id, err := in.begin()
	if err != nil {
		return Content{}, err
	}
	content := Content{UploadID: id}
	sum := sha256.New()
	chunk := bytes.NewBuffer(make([]byte, 0, MaxInlineBytes+bytes.MinRead))
	for {
		chunk.Reset()
		n, err := chunk.ReadFrom(io.LimitReader(document, MaxInlineBytes))
		if err != nil {
			return Content{}, fmt.Errorf("read the document: %w", err)
		}
		if n == 0 {
			break
		}
		sum.Write(chunk.Bytes())
		if err := in.append(ctx, id, content.Size, chunk.Bytes()); err != nil {
			return Content{}, err
		}
		content.Size += n
	}
	sum.Sum(content.SHA256[:0])
	return content, in.seal(ctx, id, content.Size)
}

func (in *Intake) begin() (uuid.UUID, error) {
	if in.db == nil {
		return uuid.Nil, nil
	}
	id, err := core.NewID()
	if err == nil {
		in.uploads = append(in.uploads, id)
	}
	return id, err
}
