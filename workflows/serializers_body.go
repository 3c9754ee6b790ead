package workflows

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/validations"
)

// BodyLimits bounds what is read of a start request. The parts of a multipart body need no limit of their
// own: an unknown part and a second part of a name are refused as soon as they begin.
type BodyLimits struct {
	// MaxBytes bounds the whole body.
	MaxBytes int64
	// MaxDepth bounds the nesting of metadata and of an envelope's content.
	MaxDepth int
	// MaxTextBytes bounds metadata and each other text beside the document.
	MaxTextBytes int64
	// MaxPartHeaderBytes bounds the header of a part, give or take a read-ahead of 4 KiB.
	MaxPartHeaderBytes int64
}

// DefaultBodyLimits returns the limits for bodies of at most maxBytes.
func DefaultBodyLimits(maxBytes int64) BodyLimits {
	return BodyLimits{MaxBytes: maxBytes, MaxDepth: 100, MaxTextBytes: 64 << 10, MaxPartHeaderBytes: 16 << 10}
}

// StartBody is what a start request hands in, whichever of the three forms its body has.
type StartBody struct {
	// Content is the document as it was taken in; it is never empty.
	Content validations.Content
	// MediaType is normalized; whether the workflow accepts it is not decided here.
	MediaType string
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

// bodyForm tells the forms of a body apart in a fingerprint.
type bodyForm string

const (
	formRaw       bodyForm = "raw"
	formMultipart bodyForm = "multipart"
	formEnvelope  bodyForm = "envelope"
)

// maxStructuredBytes is the largest raw JSON document that is fingerprinted by its structure.
const maxStructuredBytes = 1 << 20

// ReadStartBody reads the body of a start request to its end and fingerprints it:
//
//   - multipart/form-data with one part "file" and the optional text parts "name", "filename",
//     "content_type", "metadata" and "short_description";
//   - application/json that is an object with a member "content": an envelope with the same optional members
//     and "content_encoding";
//   - anything else as the document itself, with its name in X-Filename.
//
// The document is taken in as it arrives, so a large one is never in memory as a whole. The exception is JSON: an
// application/json body is an envelope or none by what its last member may be, and a document that is fingerprinted by
// its structure has to be there to be read.
//
// A document without a byte is refused in every form. An optional text that is empty counts as absent, and so
// does one that is null in an envelope, so that a client which writes out what it has not set is understood.
// Faults of the request are *core.Error, also where the connection broke off: nobody is left to read the answer, and
// for the log it is the client's fault.
func ReadStartBody(r *http.Request, limits BodyLimits, intake *validations.Intake) (StartBody, error) {
	declared, err := requestMediaType(r.Header)
	if err != nil {
		return StartBody{}, err
	}
	if err := refuseContentEncoding(r.Header); err != nil {
		return StartBody{}, err
	}
	if r.ContentLength > limits.MaxBytes {
		return StartBody{}, bodyTooLarge(limits.MaxBytes)
	}
	reader := bodyReader{source: newBodySource(r, limits.MaxBytes), limits: limits, intake: intake}
	switch {
	case declared.essence == multipartMediaType:
		return reader.readMultipart(r.Context(), declared.boundary)
	case declared.isJSON():
		return reader.readJSON(r.Context(), declared, r.Header)
	default:
		return reader.readRaw(r.Context(), declared, r.Header)
	}
}

// bodyReader reads one body.
type bodyReader struct {
	source *bodySource
	limits BodyLimits
	intake *validations.Intake
}

const unreadableBody = "The request body cannot be read."

func (b bodyReader) readRaw(ctx context.Context, declared mediaType, header http.Header) (StartBody, error) {
	filename, err := headerFilename(header)
	if err != nil {
		return StartBody{}, err
	}
	content, err := b.intake.Read(ctx, b.source, b.source.length)
	if err != nil {
		return StartBody{}, b.source.fault(err, unreadableBody)
	}
	body := StartBody{Content: content, MediaType: declared.text, Filename: filename}
	return body.finish(formRaw, nil, b.limits)
}

// readJSON reads an envelope, or a document that is fingerprinted by its structure where that is possible.
func (b bodyReader) readJSON(ctx context.Context, declared mediaType, header http.Header) (StartBody, error) {
	window := int64(maxStructuredBytes)
	if declared.essence == jsonMediaType {
		window = b.limits.MaxBytes
	}
	text, err := b.source.readUpTo(window + 1)
	if err != nil {
		return StartBody{}, b.source.fault(err, unreadableBody)
	}
	if declared.essence == jsonMediaType && isEnvelope(text) {
		return b.readEnvelope(ctx, text)
	}
	filename, err := headerFilename(header)
	if err != nil {
		return StartBody{}, err
	}
	body := StartBody{MediaType: declared.text, Filename: filename}
	if len(text) > maxStructuredBytes {
		body.Content, err = b.intake.Read(ctx, io.MultiReader(bytes.NewReader(text), b.source), b.source.length)
		if err != nil {
			return StartBody{}, b.source.fault(err, unreadableBody)
		}
		return body.finish(formRaw, nil, b.limits)
	}
	if body.Content, err = b.intake.Take(ctx, text); err != nil {
		return StartBody{}, err
	}
	// What has no canonical form is a document all the same: the run starts and the engines report it.
	if digest, err := idempotency.DigestJSON(text, b.limits.MaxDepth); err == nil {
		return body.finish(formRaw, &digest, b.limits)
	}
	return body.finish(formRaw, nil, b.limits)
}

// finish checks what all forms have in common and adds the body's share of the fingerprint. The digest is
// that of the content's structure, nil where only its bytes count.
func (b StartBody) finish(form bodyForm, structure *idempotency.Digest, limits BodyLimits) (StartBody, error) {
	if b.Content.Size == 0 {
		return StartBody{}, core.InvalidPayload("The request has no document: its content is empty.")
	}
	if err := b.checkTexts(); err != nil {
		return StartBody{}, err
	}
	metadata, err := metadataDigest(b.Metadata, limits)
	if err != nil {
		return StartBody{}, err
	}
	way := "bytes"
	if structure != nil {
		way = "structure"
		b.ContentDigest = *structure
	} else {
		b.ContentDigest = b.Content.SHA256
	}
	b.FingerprintMediaType = strings.Join([]string{string(form), way, b.MediaType}, ";")
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
