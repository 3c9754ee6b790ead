package body

import (
	"context"
	"io"
	"mime/multipart"
	"net/http"
	"slices"

	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/core/mediatype"
	"github.com/simplevalidations/simplevalidations/validations"
)

// pastedField is the field for a document that is pasted instead of chosen.
const pastedField = "text"

// Form is the form of the launch page: the multipart body of a start, with the form's key, and with a document
// that may be pasted text.
type Form struct {
	multipartForm

	definition validations.Definition
	pasted     *filePart
}

// ReadForm reads the form to its end. What was read of its texts is there also with an error, so that the form
// can be shown again.
func ReadForm(
	r *http.Request, limits Limits, definition validations.Definition, intake *validations.Intake,
) (*Form, Body, error) {
	form := &Form{definition: definition}
	form.limits, form.intake, form.texts = limits, intake, map[string]string{}
	declared, err := requestMediaType(r.Header)
	if err != nil {
		return form, Body{}, err
	}
	if r.ContentLength > limits.MaxBytes {
		return form, Body{}, bodyTooLarge(limits.MaxBytes)
	}
	form.source = newBodySource(r, limits.MaxBytes)
	if err := form.read(r.Context(), declared.boundary, form.add); err != nil {
		return form, Body{}, err
	}
	body, err := form.body()
	return form, body, err
}

func (l *Form) add(ctx context.Context, part *multipart.Part) error {
	switch name := part.FormName(); name {
	case idempotency.FormField:
		return l.addText(part, name)
	case pastedField:
		var err error
		l.pasted, err = l.readFile(ctx, withoutReturns{part})
		return err
	default:
		return l.multipartForm.add(ctx, part)
	}
}

// body puts the parts together. Browsers send the field of a file also when none was chosen.
func (l *Form) body() (Body, error) {
	chosen := l.file != nil && (l.file.content.Size > 0 || l.file.filename != "")
	pasted := l.pasted != nil && l.pasted.content.Size > 0
	switch {
	case chosen && pasted:
		return Body{}, invalid(memberAt("file"), "Choose a file or paste a text, not both.")
	case pasted:
		l.file = l.pasted
	case !chosen:
		return Body{}, invalid(memberAt("file"), "Choose a file, or paste a text.")
	}
	body, err := l.multipartForm.body()
	if l.texts["content_type"] == "" {
		body.OtherTypes = append(body.OtherTypes, l.guesses(body)...)
	}
	return body, err
}

// guesses are further types that a document without a chosen type may be taken as. What a browser declares depends on
// the system that it runs on, so the name counts too; a document of unknown type is taken as the first type that the
// workflow accepts.
func (l *Form) guesses(body Body) []string {
	if types := mediatype.OfName(body.Filename); len(types) > 0 || body.MediaType != mediatype.Binary {
		return types
	}
	return l.definition.Accepts[:min(1, len(l.definition.Accepts))]
}

// Text returns what was filled into a text field.
func (l *Form) Text(field string) string { return l.texts[field] }

// Pasted returns the pasted text, and whether it was too long to be kept in memory.
func (l *Form) Pasted() (string, bool) {
	if l.pasted == nil {
		return "", false
	}
	text := string(l.pasted.content.Bytes)
	return text, l.pasted.content.Size > int64(len(text))
}

// withoutReturns gives a pasted text the ends of lines that it had. Browsers send all of them as CR LF.
type withoutReturns struct {
	text io.Reader
}

// Read reads on.
func (w withoutReturns) Read(p []byte) (int, error) {
	n, err := w.text.Read(p)
	kept := slices.DeleteFunc(p[:n], func(b byte) bool { return b == '\r' })
	return len(kept), err
}
