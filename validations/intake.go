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
	"github.com/simplevalidations/simplevalidations/validations/objects"
)

// MaxInlineBytes is the largest document that is stored in its submission's row. A larger one is stored in chunks: of
// this size in the database, or larger ones in an object store.
const MaxInlineBytes = 256 << 10

// discardTimeout bounds how long the clean-up of a failed request delays its answer.
const discardTimeout = time.Second

// ErrUploadGone means that chunks of an upload are missing: they were swept, or lost in a crash of the database.
var ErrUploadGone = errors.New("the upload is incomplete")

// Content is a document that was taken in: its bytes or its upload, its size and its digest.
type Content struct {
	// Bytes is the document up to MaxInlineBytes, and nil if it is larger.
	Bytes []byte
	// UploadID is the upload that holds a larger document.
	UploadID uuid.UUID
	Size     int64
	SHA256   [sha256.Size]byte
}

// InlineContent returns the content of a document that is stored in its submission's row.
func InlineContent(document []byte) Content {
	return Content{Bytes: document, Size: int64(len(document)), SHA256: sha256.Sum256(document)}
}

// Intake reads the documents of one request. A small document stays in memory. A large one is stored chunk by chunk,
// each committed before the next is read, and is an orphan until a run adopts it (Service.Create).
//
// The zero Intake stores nothing and only computes the size and digest of a large document. It is for a replay, which
// needs only the fingerprint of its request.
type Intake struct {
	db      *db.DB
	objects *objects.Store
	orgID   uuid.UUID
	uploads []uuid.UUID
}

// NewIntake makes an Intake for documents of the organization.
func (s *Service) NewIntake(orgID uuid.UUID) *Intake {
	return &Intake{db: s.db, objects: s.store, orgID: orgID}
}

// Read reads a document to its end. sizeHint is its expected size, or 0. An error of the reader is returned wrapped; an
// error of the database is a *core.Error that says that the service is unavailable.
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

// Take is Read for a document in memory.
func (in *Intake) Take(ctx context.Context, document []byte) (Content, error) {
	if len(document) <= MaxInlineBytes {
		return InlineContent(document), nil
	}
	return in.store(ctx, bytes.NewReader(document))
}

// Discard deletes the uploads of the request that no run has adopted. If it fails, they are swept later.
func (in *Intake) Discard(ctx context.Context) {
	if len(in.uploads) == 0 {
		return
	}
	// The request's context may have ended, because its client has disconnected.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), discardTimeout)
	defer cancel()
	_ = in.deleteUploads(ctx) // What is left is swept later.
}

func (in *Intake) store(ctx context.Context, document io.Reader) (Content, error) {
	id := uuid.Nil
	if in.db != nil {
		id = core.NewID()
		in.uploads = append(in.uploads, id)
	}
	content := Content{UploadID: id}
	sum := sha256.New()
	size := MaxInlineBytes
	if in.objects != nil {
		size = objects.ChunkBytes
	}
	chunk := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead))
	for {
		chunk.Reset()
		n, err := chunk.ReadFrom(io.LimitReader(document, int64(size)))
		if err != nil {
			return Content{}, fmt.Errorf("read the document: %w", err)
		}
		if n == 0 {
			break
		}
		sum.Write(chunk.Bytes())
		if err := in.keep(ctx, id, content.Size, chunk.Bytes()); err != nil {
			return Content{}, err
		}
		content.Size += n
	}
	sum.Sum(content.SHA256[:0])
	return content, in.seal(ctx, id, content.Size)
}

func (in *Intake) keep(ctx context.Context, id uuid.UUID, firstByte int64, chunk []byte) error {
	switch {
	case in.db == nil:
		return nil
	case in.objects == nil:
		return uploadFailed(in.append(ctx, id, firstByte, chunk))
	default:
		return uploadFailed(in.put(ctx, id, firstByte, chunk))
	}
}
