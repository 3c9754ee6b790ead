package workflows

import (
	"context"
	"io"
	"mime/multipart"
	"net/http"
	"slices"

	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/validations"
)

// pastedField is the field for a document that is pasted instead of chosen.
const pastedField = "text"

// launchForm is the form of the launch page: the multipart body of a start, with the form's key, and with a document
// that may be pasted text.
type launchForm struct {
	multipartForm

	definition validations.Definition
	pasted     *filePart
}

// readLaunchForm reads the form to its end. What was read of its texts is there also with an error, so that the form
// can be shown again.
func readLaunchForm(
	r *http.Request, limits BodyLimits, definition validations.Definition, intake *validations.Intake,
) (*launchForm, StartBody, error) {
	form := &launchForm{definition: definition}
	form.limits, form.intake, form.texts = limits, intake, map[string]string{}
	declared, err := requestMediaType(r.Header)
	if err != nil {
		return form, StartBody{}, err
	}
	if r.ContentLength > limits.MaxBytes {
		return form, StartBody{}, bodyTooLarge(limits.MaxBytes)
	}
	form.source = newBodySource(r, limits.MaxBytes)
	if err := form.read(r.Context(), declared.boundary, form.add); err != nil {
		return form, StartBody{}, err
	}
	body, err := form.body()
	return form, body, err
}

func (l *launchForm) add(ctx context.Context, part *multipart.Part) error {
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
func (l *launchForm) body() (StartBody, error) {
	chosen := l.file != nil && (l.file.content.Size > 0 || l.file.filename != "")
	pasted := l.pasted != nil && l.pasted.content.Size > 0
	switch {
	case chosen && pasted:
		return StartBody{}, invalid(memberAt("file"), "Choose a file or paste a text, not both.")
	case pasted:
		l.file = l.pasted
	case !chosen:
		return StartBody{}, invalid(memberAt("file"), "Choose a file, or paste a text.")
	}
	if l.texts["content_type"] == "" {
		l.texts["content_type"] = l.guessType()
	}
	return l.multipartForm.body()
}

// guessType is the media type of a document for which none was chosen. Browsers ask the system that they run on, which
// may have an opinion of its own.
func (l *launchForm) guessType() string {
	declared := l.file.contentType
	if l.definition.Takes(declared) || len(l.definition.Accepts) == 0 {
		return declared
	}
	filename := l.file.filename
	if l.texts["filename"] != "" {
		filename = l.texts["filename"]
	}
	candidates := typesByExtension(filename)
	if i := slices.IndexFunc(candidates, l.definition.Takes); i >= 0 {
		return candidates[i]
	}
	if len(candidates) > 0 {
		return candidates[0]
	}
	if declared == "" || declared == binaryMediaType {
		return l.definition.Accepts[0]
	}
	return declared
}

// entries are what was filled in, besides a file and a large text.
func (l *launchForm) entries() launchEntries {
	entries := launchEntries{
		Name: l.texts["name"], ShortDescription: l.texts["short_description"], Filename: l.texts["filename"],
	}
	if l.pasted != nil {
		entries.Text = string(l.pasted.content.Bytes)
		entries.TextTooLong = l.pasted.content.Size > int64(len(entries.Text))
	}
	return entries
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
