package body

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/core/mediatype"
	"github.com/simplevalidations/simplevalidations/validations"
)

// maxShownName bounds how much of a name that the client chose an error repeats.
const maxShownName = 64

// envelope is a JSON object that carries a document in its member "content".
type envelope struct {
	content  jsontext.Value
	metadata jsontext.Value
	texts    map[string]string
}

// isEnvelope reports whether the text is a JSON object with a member "content". It looks no further than
// that member, and no fault before it matters but one that hides where members begin: a broken envelope is
// to be refused, whereas a broken document is to be run and reported.
func isEnvelope(text []byte) bool {
	// The name can only be written out or with \u escapes, and most documents have neither.
	if !bytes.Contains(text, []byte(`"content"`)) && !bytes.Contains(text, []byte(`\u`)) {
		return false
	}
	decoder := jsontext.NewDecoder(bytes.NewBuffer(text),
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if token, err := decoder.ReadToken(); err != nil || token.Kind() != '{' {
		return false
	}
	for {
		name, err := decoder.ReadToken()
		if err != nil || name.Kind() != '"' {
			return false
		}
		if name.String() == "content" {
			return true
		}
		if err := decoder.SkipValue(); err != nil {
			return false
		}
	}
}

// readEnvelope reads an envelope. Names are matched exactly. A content that is a string is its characters in
// UTF-8 (text/plain unless content_type or filename says otherwise), or with the content_encoding "base64" the bytes
// that it stands for (application/octet-stream unless they do); an object or array is its JSON text as it was sent
// (application/json).
//
// It is in memory as a whole, and its content once more where that is a string with escapes or of bytes.
func (b bodyReader) readEnvelope(ctx context.Context, text []byte) (Body, error) {
	parsed, err := parseEnvelope(text, b.limits)
	if err != nil {
		return Body{}, err
	}
	content, fallback, err := parsed.document()
	if err != nil {
		return Body{}, err
	}
	declared, err := parseMediaType(parsed.texts["content_type"], memberAt("content_type"))
	if err != nil {
		return Body{}, err
	}
	filename, err := cleanFilename(memberAt("filename"), parsed.texts["filename"])
	if err != nil {
		return Body{}, err
	}
	body := Body{
		Filename:         filename,
		Name:             parsed.texts["name"],
		ShortDescription: parsed.texts["short_description"],
		Metadata:         string(parsed.metadata),
	}
	types := mediatype.Sent{Declared: declared.text, Filename: filename, Default: fallback}.Types()
	isText := parsed.content.Kind() == '"'
	if !isText {
		types = slices.DeleteFunc(types, func(mediaType string) bool { return !mediatype.IsJSON(mediaType) })
	}
	if len(types) == 0 {
		return Body{}, invalid(memberAt("content_type"),
			"A content that is an object or an array needs a JSON media type; send other documents as a string.")
	}
	body = body.typed(types)
	if len(text) > validations.MaxInlineBytes && len(content) <= validations.MaxInlineBytes {
		// What is kept of a large envelope must not keep all of it.
		content = bytes.Clone(content)
	}
	if body.Content, err = b.intake.Take(ctx, content); err != nil {
		return Body{}, err
	}
	if isText {
		return body.finish(formEnvelope, nil, b.limits)
	}
	digest, err := idempotency.DigestJSON(content, b.limits.MaxDepth)
	if err != nil {
		return Body{}, invalidJSON("/content", "The content", err)
	}
	return body.finish(formEnvelope, &digest, b.limits)
}

func parseEnvelope(text []byte, limits Limits) (envelope, error) {
	parsed := envelope{texts: map[string]string{}}
	decoder := jsontext.NewDecoder(bytes.NewBuffer(text))
	if _, err := decoder.ReadToken(); err != nil {
		return envelope{}, invalidEnvelope(err)
	}
	for decoder.PeekKind() != '}' {
		token, err := decoder.ReadToken()
		if err != nil {
			return envelope{}, invalidEnvelope(err)
		}
		name := token.String()
		value, err := decoder.ReadValue()
		if err != nil {
			return envelope{}, invalidEnvelope(err)
		}
		// The decoder may reuse its buffer, the text stays.
		end := decoder.InputOffset()
		value = text[end-int64(len(value)) : end]
		if err := parsed.set(name, value, limits); err != nil {
			return envelope{}, err
		}
	}
	if _, err := decoder.ReadToken(); err != nil {
		return envelope{}, invalidEnvelope(err)
	}
	if _, err := decoder.ReadToken(); !errors.Is(err, io.EOF) {
		return envelope{}, core.InvalidPayload("The envelope has trailing data.")
	}
	return parsed, nil
}

func (e *envelope) set(name string, value jsontext.Value, limits Limits) error {
	switch name {
	case "content":
		e.content = value
	case "metadata":
		return e.setMetadata(value)
	case "name", "filename", "content_type", "content_encoding", "short_description":
		return e.setText(name, value, limits)
	default:
		return invalidAt(memberAt(name), "is not a known member. A JSON object with a member \"content\" is an "+
			"envelope; send a document that has one as the part \"file\" of multipart/form-data")
	}
	return nil
}

func (e *envelope) setMetadata(value jsontext.Value) error {
	switch value.Kind() {
	case '{':
		e.metadata = value
	case 'n':
	default:
		return invalid(memberAt("metadata"), "Metadata must be a JSON object.")
	}
	return nil
}

func (e *envelope) setText(name string, value jsontext.Value, limits Limits) error {
	switch value.Kind() {
	case '"':
	case 'n':
		return nil
	default:
		return invalidAt(memberAt(name), "must be a string")
	}
	if int64(len(value)) > limits.MaxTextBytes {
		return invalidAt(memberAt(name), fmt.Sprintf("is larger than %d bytes", limits.MaxTextBytes))
	}
	text, err := jsontext.AppendUnquote(nil, value)
	if err != nil {
		return invalidEnvelope(err)
	}
	e.texts[name] = string(text)
	return nil
}

// document returns the content and the media type that it has when the envelope names none.
func (e *envelope) document() ([]byte, string, error) {
	at := memberAt("content")
	encoding := e.texts["content_encoding"]
	if encoding != "" && encoding != "base64" {
		return nil, "", invalid(memberAt("content_encoding"), `The content_encoding must be "base64" or left out.`)
	}
	switch e.content.Kind() {
	case '{', '[':
		if encoding != "" {
			return nil, "", invalid(at, "The content must be a string if content_encoding is given.")
		}
		return e.content, mediatype.JSON, nil
	case '"':
	default:
		return nil, "", invalid(at, "The content must be a string, an object or an array.")
	}
	text, err := unquote(e.content)
	if err != nil {
		return nil, "", invalidEnvelope(err)
	}
	if encoding == "" {
		return text, mediatype.Text, nil
	}
	decoded, err := base64.StdEncoding.AppendDecode(nil, text)
	if err != nil {
		return nil, "", invalid(at, "The content is not valid base64 (RFC 4648, with padding).")
	}
	return decoded, mediatype.Binary, nil
}

// unquote returns what a JSON string says, without a copy of it where it is written out.
func unquote(value jsontext.Value) ([]byte, error) {
	if bytes.IndexByte(value, '\\') < 0 {
		return value[1 : len(value)-1], nil
	}
	return jsontext.AppendUnquote(nil, value)
}

func invalidEnvelope(err error) error {
	return invalidJSON("", "The envelope", idempotency.ExplainJSON(err))
}

// memberAt points at a member of an envelope or a part of a multipart body.
func memberAt(name string) api.FieldError {
	if len(name) > maxShownName {
		name = name[:maxShownName]
	}
	return api.FieldError{Pointer: string(jsontext.Pointer("").AppendToken(strings.ToValidUTF8(name, "\uFFFD")))}
}
