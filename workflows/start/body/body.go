// Package body reads the body of a start request: a form, an envelope of JSON, or the document itself.
//
// It takes the document in while it arrives, finds its media type and computes its share of the fingerprint. It does
// not know workflows or keys, and decides nothing about the run.
package body

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/core/mediatype"
	"github.com/simplevalidations/simplevalidations/validations"
)

// Limits bounds what is read of a start request. The parts of a multipart body need no limit of their
// own: an unknown part and a second part of a name are refused as soon as they begin.
type Limits struct {
	// MaxBytes bounds the whole body.
	MaxBytes int64
	// MaxDepth bounds the nesting of metadata and of an envelope's content.
	MaxDepth int
	// MaxTextBytes bounds metadata and each other text beside the document.
	MaxTextBytes int64
	// MaxPartHeaderBytes bounds the header of a part, give or take a read-ahead of 4 KiB.
	MaxPartHeaderBytes int64
}

// DefaultLimits returns the limits for bodies of at most maxBytes.
func DefaultLimits(maxBytes int64) Limits {
	return Limits{MaxBytes: maxBytes, MaxDepth: 100, MaxTextBytes: 64 << 10, MaxPartHeaderBytes: 16 << 10}
}

// Body is the content of a start request, whichever of the three forms its body has.
type Body struct {
	// Content is the document as it was taken in; it is never empty.
	Content validations.Content
	// MediaType is normalized: the declared type, or that of the file's name. Whether the workflow accepts it is not
	// decided here.
	MediaType string
	// OtherTypes are what the document may be taken as instead, the best first.
	OtherTypes []string
	// Filename is a label without folders and never a path.
	Filename         string
	Name             string
	ShortDescription string
	// Metadata is a JSON object as the client wrote it, or "".
	Metadata string

	// ContentDigest, FingerprintMediaType and Options are the body's share of the request's fingerprint.
	ContentDigest        idempotency.Digest
	FingerprintMediaType string
	Options              []idempotency.Option
}

// bodyForm names the form of a body in a fingerprint.
type bodyForm string

const (
	formRaw       bodyForm = "raw"
	formMultipart bodyForm = "multipart"
	formEnvelope  bodyForm = "envelope"
)

// maxStructuredBytes is the largest raw JSON document that is fingerprinted by its structure.
const maxStructuredBytes = 1 << 20

// Read reads the body of a start request to its end and fingerprints it:
//
//   - multipart/form-data with one part "file" and the optional text parts "name", "filename",
//     "content_type", "metadata" and "short_description";
//   - application/json that is an object with a member "content": an envelope with the same optional members
//     and "content_encoding";
//   - anything else as the document itself, with its name in X-Filename.
//
// A document whose type was not declared, or declared as any bytes, gets the types of its name's ending. All that a
// fingerprint has of the type follows from the request alone, never from what the workflow takes: a workflow may take
// something else by the time of a retry.
//
// The document is taken in as it arrives, so a large one is never in memory as a whole. The exception is JSON: an
// application/json body is an envelope or none by what its last member may be, and a document that is fingerprinted by
// its structure has to be there to be read.
//
// A document without a byte is refused in every form. An optional text that is empty counts as absent, and so does one
// that is null in an envelope, for clients that send unset members as null. Faults of the request are *core.Error, also
// if the connection broke: the client cannot read the answer any more, and the log has it as the client's fault.
func Read(r *http.Request, limits Limits, intake *validations.Intake) (Body, error) {
	declared, err := requestMediaType(r.Header)
	if err != nil {
		return Body{}, err
	}
	if r.ContentLength > limits.MaxBytes {
		return Body{}, bodyTooLarge(limits.MaxBytes)
	}
	reader := bodyReader{source: newBodySource(r, limits.MaxBytes), limits: limits, intake: intake}
	switch {
	case declared.essence == multipartMediaType:
		return reader.readMultipart(r.Context(), declared.boundary)
	case mediatype.IsJSON(declared.essence):
		return reader.readJSON(r.Context(), declared, r.Header)
	default:
		return reader.readRaw(r.Context(), declared, r.Header)
	}
}

// bodyReader reads one body.
type bodyReader struct {
	source *bodySource
	limits Limits
	intake *validations.Intake
}

const unreadableBody = "The request body cannot be read."

// readRaw reads a document whose type is not declared as JSON. It is JSON by its name alone, and then no envelope: a
// file has been named.
func (b bodyReader) readRaw(ctx context.Context, declared declaredType, header http.Header) (Body, error) {
	filename, err := headerFilename(header)
	if err != nil {
		return Body{}, err
	}
	sent := mediatype.Sent{Declared: declared.text, Filename: filename}
	if declared.essence == formMediaType && filename != "" {
		sent.Declared = ""
	}
	body := Body{Filename: filename}.typed(sent.Types())
	if mediatype.IsJSON(body.MediaType) {
		text, err := b.source.readUpTo(maxStructuredBytes + 1)
		if err != nil {
			return Body{}, b.source.fault(err, unreadableBody)
		}
		return b.readStructured(ctx, text, body)
	}
	if body.Content, err = b.intake.Read(ctx, b.source, b.source.length); err != nil {
		return Body{}, b.source.fault(err, unreadableBody)
	}
	return body.finish(formRaw, nil, b.limits)
}

// readJSON reads an envelope, or a document that is fingerprinted by its structure where that is possible.
func (b bodyReader) readJSON(ctx context.Context, declared declaredType, header http.Header) (Body, error) {
	window := int64(maxStructuredBytes)
	if declared.essence == mediatype.JSON {
		window = b.limits.MaxBytes
	}
	text, err := b.source.readUpTo(window + 1)
	if err != nil {
		return Body{}, b.source.fault(err, unreadableBody)
	}
	if declared.essence == mediatype.JSON && isEnvelope(text) {
		return b.readEnvelope(ctx, text)
	}
	filename, err := headerFilename(header)
	if err != nil {
		return Body{}, err
	}
	return b.readStructured(ctx, text, Body{MediaType: declared.text, Filename: filename})
}

// readStructured takes in a JSON document that begins with the text, and all of it where it is small enough to be
// fingerprinted by its structure.
func (b bodyReader) readStructured(ctx context.Context, text []byte, body Body) (Body, error) {
	var err error
	if len(text) > maxStructuredBytes {
		body.Content, err = b.intake.Read(ctx, io.MultiReader(bytes.NewReader(text), b.source), b.source.length)
		if err != nil {
			return Body{}, b.source.fault(err, unreadableBody)
		}
		return body.finish(formRaw, nil, b.limits)
	}
	if body.Content, err = b.intake.Take(ctx, text); err != nil {
		return Body{}, err
	}
	// What has no canonical form is a document all the same: the run starts and the engines report it.
	if digest, err := idempotency.DigestJSON(text, b.limits.MaxDepth); err == nil {
		return body.finish(formRaw, &digest, b.limits)
	}
	return body.finish(formRaw, nil, b.limits)
}

// typed returns the body with the types that its document may be taken as, of which there is at least one.
func (b Body) typed(types []string) Body {
	b.MediaType, b.OtherTypes = types[0], append([]string(nil), types[1:]...)
	return b
}

// finish checks what all forms have in common and adds the body's share of the fingerprint. The digest is
// that of the content's structure, nil where only its bytes count.
func (b Body) finish(form bodyForm, structure *idempotency.Digest, limits Limits) (Body, error) {
	if b.Content.Size == 0 {
		return Body{}, core.InvalidPayload("The request has no document: its content is empty.")
	}
	// All forms store these as they came.
	if err := checkText(api.FieldError{Pointer: "/name"}, "The name", b.Name, maxNameLength, ""); err != nil {
		return Body{}, err
	}
	err := checkText(api.FieldError{Pointer: "/short_description"}, "The short description", b.ShortDescription,
		maxShortDescriptionLength, "\t\r\n")
	if err != nil {
		return Body{}, err
	}
	var metadata string
	if b.Metadata != "" {
		if metadata, err = metadataDigest(b.Metadata, limits); err != nil {
			return Body{}, err
		}
	}
	way := "bytes"
	if structure != nil {
		way = "structure"
		b.ContentDigest = *structure
	} else {
		b.ContentDigest = b.Content.SHA256
	}
	b.FingerprintMediaType = strings.Join([]string{string(form), way, mediatype.Canonical(b.MediaType)}, ";")
	for _, option := range []idempotency.Option{
		{Name: "filename", Value: b.Filename},
		{Name: "metadata", Value: metadata},
		{Name: "name", Value: b.Name},
		{Name: "short_description", Value: b.ShortDescription},
	} {
		if option.Value != "" {
			b.Options = append(b.Options, option)
		}
	}
	return b, nil
}
