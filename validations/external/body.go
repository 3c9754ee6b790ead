package external

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
)

// Envelope describes the document and the step that it is sent for.
type Envelope struct {
	// Key is the Idempotency-Key of the call. It is in the body as well, so that the signature covers it.
	Key string `json:"key"`
	// Receipt is the id of the call. A callback is signed for it.
	Receipt    uuid.UUID       `json:"receipt"`
	Run        uuid.UUID       `json:"run"`
	Step       string          `json:"step"`
	MediaType  string          `json:"media_type"`
	Filename   string          `json:"filename"`
	Size       int64           `json:"size"`
	Parameters json.RawMessage `json:"parameters,omitempty"`
	Callback   *Callback       `json:"callback,omitempty"`
}

// Callback is the URL to which the validator may send its answer later, and the timeout.
type Callback struct {
	URL            string `json:"url"`
	TimeoutSeconds int    `json:"timeout_seconds"`
}

// Body is the body of a call: the envelope with the document. It is encoded while it is read, so it needs no copy of
// the document, and each Reader returns the same bytes.
type Body struct {
	key     string
	subject core.Subject
	head    []byte
	content io.ReaderAt
	size    int64
}

const (
	contentMember = `,"content":"`
	bodyEnd       = `"}`
)

// NewBody makes a body. The envelope's Size is the length of the content.
func NewBody(envelope Envelope, content io.ReaderAt) (Body, error) {
	head, err := json.Marshal(envelope)
	if err != nil {
		return Body{}, fmt.Errorf("encode an envelope: %w", err)
	}
	head = append(bytes.TrimSuffix(head, []byte("}")), contentMember...)
	subject := core.Subject{
		Direction: core.DirectionCall, Receipt: envelope.Receipt.String(), Run: envelope.Run.String(),
	}
	return Body{key: envelope.Key, subject: subject, head: head, content: content, size: envelope.Size}, nil
}

// Len is the length of the body in bytes.
func (b Body) Len() int64 {
	encoded := (b.size + 2) / 3 * 4 // base64 makes four characters of three bytes
	return int64(len(b.head)) + encoded + int64(len(bodyEnd))
}

// Reader reads the body from its beginning.
func (b Body) Reader() io.Reader {
	content := &base64Reader{source: io.NewSectionReader(b.content, 0, b.size)}
	return io.MultiReader(bytes.NewReader(b.head), content, strings.NewReader(bodyEnd))
}

// base64Reader encodes what it reads.
type base64Reader struct {
	source  io.Reader
	encoded []byte
	// plain holds a multiple of three bytes, so that only the end is padded.
	plain [3 << 10]byte
	end   error
}

// Read returns the next part of the encoding.
func (r *base64Reader) Read(target []byte) (int, error) {
	if len(r.encoded) == 0 {
		if r.end != nil {
			return 0, r.end
		}
		n, err := io.ReadFull(r.source, r.plain[:])
		switch err {
		case nil:
		case io.EOF, io.ErrUnexpectedEOF:
			r.end = io.EOF
		default:
			return 0, err
		}
		r.encoded = base64.StdEncoding.AppendEncode(r.encoded[:0], r.plain[:n])
		if n == 0 {
			return 0, io.EOF
		}
	}
	n := copy(target, r.encoded)
	r.encoded = r.encoded[n:]
	return n, nil
}
