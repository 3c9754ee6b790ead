package body

import (
	"context"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"strings"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/mediatype"
	"github.com/simplevalidations/simplevalidations/validations"
)

const malformedMultipart = "The multipart body is malformed or ends before its closing boundary."

// filePart is the document of a multipart body.
type filePart struct {
	content               validations.Content
	contentType, filename string
}

// multipartForm collects the parts of a body.
type multipartForm struct {
	bodyReader

	file  *filePart
	texts map[string]string
}

// readMultipart reads the parts as they stream in. The boundary, the order of the parts and header fields
// other than name, file name and type leave no trace. A part is stored as it was sent: a transfer encoding,
// which form data has not, is refused instead of being undone for one encoding and not for another.
func (b bodyReader) readMultipart(ctx context.Context, boundary string) (Body, error) {
	form := multipartForm{bodyReader: b, texts: map[string]string{}}
	if err := form.read(ctx, boundary, form.add); err != nil {
		return Body{}, err
	}
	return form.body()
}

// read hands the parts to add, one after the other.
func (f *multipartForm) read(
	ctx context.Context, boundary string, add func(context.Context, *multipart.Part) error,
) error {
	if boundary == "" {
		return invalid(api.FieldError{Parameter: "Content-Type"},
			"The Content-Type of a multipart body needs a boundary; let the HTTP client write this header.")
	}
	// The reader reports a body that ends within a part's header like one that ends with its closing boundary.
	// A blank line behind the body ends such a header, and the part's content is then missed; elsewhere it
	// means nothing.
	reader := multipart.NewReader(io.MultiReader(f.source, strings.NewReader("\r\n\r\n")), boundary)
	for {
		f.source.limit(f.limits.MaxPartHeaderBytes)
		part, err := reader.NextRawPart()
		f.source.unlimit()
		// Wrapped, this error is that of a body which was cut off.
		if err == io.EOF {
			break
		}
		if err != nil {
			return f.source.fault(err, malformedMultipart)
		}
		if err := add(ctx, part); err != nil {
			return err
		}
	}
	// What follows the last boundary means nothing, but the body must arrive whole and within its limit.
	if _, err := io.Copy(io.Discard, f.source); err != nil {
		return f.source.fault(err, malformedMultipart)
	}
	return nil
}

func (f *multipartForm) add(ctx context.Context, part *multipart.Part) error {
	disposition, parameters, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
	if err != nil || disposition != "form-data" || parameters["name"] == "" {
		return core.InvalidPayload("Every part needs a Content-Disposition of form-data with a name.")
	}
	name := parameters["name"]
	at := memberAt(name)
	if _, repeated := f.texts[name]; repeated || (name == "file" && f.file != nil) {
		return invalidAt(at, "is duplicated")
	}
	switch strings.ToLower(part.Header.Get("Content-Transfer-Encoding")) {
	case "", "binary", "8bit", "7bit":
	default:
		return invalid(at, "A part must not have a Content-Transfer-Encoding; send its bytes as they are.")
	}
	switch name {
	case "file":
		return f.addFile(ctx, part, parameters["filename"])
	case "name", "filename", "content_type", "metadata", "short_description":
		return f.addText(part, name)
	default:
		return invalidAt(at, "is not a known part; they are file, name, filename, content_type, metadata and "+
			"short_description")
	}
}

// addFile reads the part of the document, whose file name the parser of its disposition has found.
func (f *multipartForm) addFile(ctx context.Context, part *multipart.Part, parsed string) error {
	filename, err := partFilename(part.Header.Get("Content-Disposition"), parsed)
	if err != nil {
		return err
	}
	file, err := f.readFile(ctx, part)
	if err != nil {
		return err
	}
	file.contentType, file.filename = part.Header.Get("Content-Type"), filename
	f.file = file
	return nil
}

func (f *multipartForm) readFile(ctx context.Context, document io.Reader) (*filePart, error) {
	content, err := f.intake.Read(ctx, document, f.source.length)
	if err != nil {
		return nil, f.source.fault(err, malformedMultipart)
	}
	return &filePart{content: content}, nil
}

func (f *multipartForm) addText(part *multipart.Part, name string) error {
	text, err := io.ReadAll(io.LimitReader(part, f.limits.MaxTextBytes+1))
	if err != nil {
		return f.source.fault(err, malformedMultipart)
	}
	if int64(len(text)) > f.limits.MaxTextBytes {
		return invalidAt(memberAt(name), fmt.Sprintf("is larger than %d bytes", f.limits.MaxTextBytes))
	}
	f.texts[name] = string(text)
	return nil
}

// body puts the parts together. What a text part says overrides what the file part's header says.
func (f *multipartForm) body() (Body, error) {
	if f.file == nil {
		return Body{}, invalid(memberAt("file"), `The request has no document: the part "file" is missing.`)
	}
	contentType, at := f.file.contentType, memberAt("file")
	if text := f.texts["content_type"]; text != "" {
		contentType, at = text, memberAt("content_type")
	}
	declared, err := parseMediaType(contentType, at)
	if err != nil {
		return Body{}, err
	}
	filename, at := f.file.filename, memberAt("file")
	if text := f.texts["filename"]; text != "" {
		filename, at = text, memberAt("filename")
	}
	filename, err = cleanFilename(at, filename)
	if err != nil {
		return Body{}, err
	}
	body := Body{
		Content:          f.file.content,
		Filename:         filename,
		Name:             f.texts["name"],
		ShortDescription: f.texts["short_description"],
		Metadata:         f.texts["metadata"],
	}
	sent := mediatype.Sent{Declared: declared.text, Filename: filename}
	return body.typed(sent.Types()).finish(formMultipart, nil, f.limits)
}
