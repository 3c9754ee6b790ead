package editor

import (
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/validations/engines"
	"github.com/simplevalidations/simplevalidations/workflows/files"
)

// editorDraft is the sent form.
type editorDraft struct {
	Key string
	// Base names the state of the workflow that the text was made from; "" for a new workflow.
	Base string
	Text string
	// Do is what the form is sent for.
	Do editorAction
	// Revision is that of the stored draft that the editor has shown, 0 for none.
	Revision int
	// Sample is a document that the text is to check, and SampleName its file name.
	Sample, SampleName string
}

// editorAction is the action of a button of the editor.
type editorAction string

const (
	actionPublish editorAction = ""
	actionCheck   editorAction = "check"
	actionDraft   editorAction = "draft"
	actionDiscard editorAction = "discard"
	actionInfer   editorAction = "infer"
)

// editorFault is an error in the text, with its line.
type editorFault struct {
	files.Fault

	Excerpt string
}

func newEditorFaults(text string, faults []files.Fault) []editorFault {
	lines := strings.Split(text, "\n")
	shown := make([]editorFault, len(faults))
	for i, fault := range faults {
		shown[i].Fault = fault
		if fault.Line > 0 && fault.Line <= len(lines) {
			shown[i].Excerpt = excerptOf(lines[fault.Line-1])
		}
	}
	return shown
}

// faultsOf returns the fields of a refusal as errors in the text, each at the line that begins with its name.
func faultsOf(refused *core.Error, text string) []files.Fault {
	faults := make([]files.Fault, len(refused.Fields))
	for i, field := range refused.Fields {
		faults[i].ConfigError = engines.ConfigError{Pointer: field.Pointer, Code: field.Code, Detail: field.Detail}
		for n, line := range strings.Split(text, "\n") {
			if strings.HasPrefix(line, field.Name()+":") {
				faults[i].Line, faults[i].Column = n+1, 1
			}
		}
	}
	return faults
}

// maxExcerpt is how much of a line is shown.
const maxExcerpt = 160

func excerptOf(line string) string {
	if runes := []rune(line); len(runes) > maxExcerpt {
		return string(runes[:maxExcerpt]) + "…"
	}
	return line
}

// editorOverhead bounds the rest of the form, which is the sample and its names.
const editorOverhead = maxSampleBytes + 128<<10

// readEditor reads the form. A file that was chosen replaces the text.
func readEditor(c echo.Context) (editorDraft, error) {
	request := c.Request()
	request.Body = http.MaxBytesReader(c.Response(), request.Body, files.MaxBytes+editorOverhead)
	if err := request.ParseMultipartForm(files.MaxBytes + editorOverhead); err != nil {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return editorDraft{}, core.NewError(api.CodePayloadTooLarge, "The workflow is larger than 2 MiB.")
		}
		return editorDraft{}, core.InvalidPayload("The form cannot be read.").Because(err)
	}
	draft := editorDraft{
		Key: c.FormValue(idempotency.FormField), Base: c.FormValue("base"),
		Text: strings.ReplaceAll(c.FormValue("text"), "\r\n", "\n"),
		Do:   editorAction(c.FormValue("do")), SampleName: c.FormValue("sample_name"),
		Sample: strings.ReplaceAll(c.FormValue("sample"), "\r\n", "\n"),
	}
	// A text that is not a number was never shown as a revision.
	draft.Revision, _ = strconv.Atoi(c.FormValue("revision"))
	if uploads := request.MultipartForm.File["file"]; len(uploads) > 0 && uploads[0].Size > 0 {
		text, err := readUpload(uploads[0])
		if err != nil {
			return draft, err
		}
		draft.Text = text
	}
	return draft, nil
}

func readUpload(header *multipart.FileHeader) (string, error) {
	file, err := header.Open()
	if err != nil {
		return "", core.InvalidPayload("The file cannot be read.").Because(err)
	}
	defer file.Close()
	text, err := io.ReadAll(file)
	if err != nil {
		return "", core.InvalidPayload("The file cannot be read.").Because(err)
	}
	return string(text), nil
}

// newWorkflowText is what the editor of a new workflow begins with.
const newWorkflowText = `schema_version: 1
slug: my-workflow
name: My workflow
description: What this workflow checks.
accepts: [application/json]
steps:
  - id: shape
    name: Shape
    type: json_schema
    continue_on_failure: false
    config:
      schema:
        type: object
        required: [id]
`
