package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"sync"
)

// errOneShot says that a document cannot be sent twice.
var errOneShot = errors.New("the document can be read only once, so it could not be sent again: " +
	"give an io.ReadSeeker, set GetContent, or set Retries.Attempts to 1")

// body is what a request carries. A nil body is none.
type body struct {
	before, after []byte
	content       func() (io.ReadCloser, error)
	// length is that of the content, or -1 where it is not known.
	length   int64
	onUpload func(sent, total int64)
}

// bytesBody is a body that is in memory.
func bytesBody(content []byte) *body {
	return &body{before: content, content: func() (io.ReadCloser, error) { return http.NoBody, nil }}
}

// size is the length of the whole body, or -1 where it is not known.
func (b *body) size() int64 {
	switch {
	case b == nil:
		return 0
	case b.length < 0:
		return -1
	default:
		return int64(len(b.before)) + b.length + int64(len(b.after))
	}
}

// open returns the body for one attempt.
func (b *body) open() (*sending, error) {
	if b == nil {
		return nil, nil //nolint:nilnil // a nil sending sends nothing
	}
	content, err := b.content()
	if err != nil {
		return nil, err
	}
	s := &sending{body: b, content: content}
	s.all = io.MultiReader(bytes.NewReader(b.before), readerFunc(s.readContent), bytes.NewReader(b.after))
	return s, nil
}

// sending is the body of one attempt. A transport may go on reading it when the attempt is over, while the next attempt
// reads the same document from its beginning; detach keeps them apart.
type sending struct {
	body *body
	all  io.Reader

	mu      sync.Mutex
	content io.ReadCloser
	ended   bool
	sent    int64
	err     error
}

// reader is the sending as a body, which is nothing at all where nothing is sent.
func (s *sending) reader() io.Reader {
	if s == nil {
		return http.NoBody
	}
	return s
}

// Read reads the next part while the attempt lasts.
func (s *sending) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return 0, io.ErrClosedPipe
	}
	return s.all.Read(p)
}

// Close ends the attempt.
func (s *sending) Close() error {
	s.detach()
	return nil
}

func (s *sending) readContent(p []byte) (int, error) {
	n, err := s.content.Read(p)
	s.sent += int64(n)
	if n > 0 && s.body.onUpload != nil {
		s.body.onUpload(s.sent, s.body.length)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

func (s *sending) detach() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.ended = true
		_ = s.content.Close() // It was only read.
	}
}

// failed is why the document could not be read, if it could not.
func (s *sending) failed() error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

type readerFunc func(p []byte) (int, error)

// Read calls the function.
func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// form makes the body of a start and its media type. It is a form, as a raw JSON document could be taken for an
// envelope.
func (r StartRequest) form(repeated bool) (*body, string, error) {
	content, length, err := r.source(repeated)
	if err != nil {
		return nil, "", err
	}
	var text bytes.Buffer
	form := multipart.NewWriter(&text)
	if err := r.writeFields(form); err != nil {
		return nil, "", err
	}
	part := textproto.MIMEHeader{"Content-Disposition": {`form-data; name="file"`}}
	if r.Filename != "" {
		part.Set("Content-Disposition", multipart.FileContentDisposition("file", r.Filename))
	}
	if r.MediaType != "" {
		part.Set("Content-Type", r.MediaType)
	}
	if _, err := form.CreatePart(part); err != nil {
		return nil, "", fmt.Errorf("write the form: %w", err)
	}
	before := text.Len()
	if err := form.Close(); err != nil {
		return nil, "", fmt.Errorf("write the form: %w", err)
	}
	return &body{
		before: text.Bytes()[:before], after: text.Bytes()[before:],
		content: content, length: length, onUpload: r.OnUpload,
	}, form.FormDataContentType(), nil
}

func (r StartRequest) writeFields(form *multipart.Writer) error {
	fields := [][2]string{{"name", r.Name}, {"short_description", r.ShortDescription}}
	if len(r.Metadata) > 0 {
		metadata, err := json.Marshal(r.Metadata)
		if err != nil {
			return fmt.Errorf("write the metadata: %w", err)
		}
		fields = append(fields, [2]string{"metadata", string(metadata)})
	}
	for _, field := range fields {
		if field[1] == "" {
			continue
		}
		if err := form.WriteField(field[0], field[1]); err != nil {
			return fmt.Errorf("write the form: %w", err)
		}
	}
	return nil
}

// source returns what opens the document for an attempt, and its length.
func (r StartRequest) source(repeated bool) (func() (io.ReadCloser, error), int64, error) {
	if r.GetContent != nil {
		return r.GetContent, -1, nil
	}
	if r.Content == nil {
		return nil, 0, errors.New("the start has no document: set Content or GetContent")
	}
	seeker, ok := r.Content.(io.Seeker)
	if !ok {
		if repeated {
			return nil, 0, errOneShot
		}
		return func() (io.ReadCloser, error) { return io.NopCloser(r.Content), nil }, -1, nil
	}
	begin, err := seeker.Seek(0, io.SeekCurrent)
	if err != nil {
		return nil, 0, fmt.Errorf("%w: %w", errOneShot, err)
	}
	end, err := seeker.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, 0, fmt.Errorf("find the length of the document: %w", err)
	}
	return func() (io.ReadCloser, error) {
		if _, err := seeker.Seek(begin, io.SeekStart); err != nil {
			return nil, fmt.Errorf("go back to the beginning: %w", err)
		}
		return io.NopCloser(r.Content), nil
	}, end - begin, nil
}
