package editor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/mediatype"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/engines"
	"github.com/simplevalidations/simplevalidations/validations/formats"
	"github.com/simplevalidations/simplevalidations/workflows"
	"github.com/simplevalidations/simplevalidations/workflows/files"
)

// sampleView is the result of checking a sample by an unsaved text.
type sampleView struct {
	Pill    pages.Pill
	Summary string
	// Note says why the sample was not checked; "" if it was.
	Note     string
	Findings []validations.ShownFinding
	// More is set if there are more findings than are listed.
	More string
}

// sampleFindings bounds the findings that are listed beside a sample.
const sampleFindings = 50

// assist does the actions that keep the editor open: it checks the text and the sample, stores a draft, or writes the
// text from the sample.
func (a *App) assist(c echo.Context, principal core.Principal, page editorPage) error {
	if page.Workflow != nil {
		var err error
		page.Stored, err = a.findDraft(c.Request().Context(), principal.OrgID, page.Workflow.ID)
		if err != nil {
			return err
		}
	}
	switch page.Draft.Do {
	case actionCheck:
		return a.checkSample(c, principal, page)
	case actionInfer:
		return a.inferText(c, principal, page)
	case actionDraft, actionDiscard:
		if page.Workflow != nil {
			return a.keepDraft(c, principal, page)
		}
	case actionPublish:
	}
	return a.refuse(c, page, core.InvalidPayload("The form has no such button. Reload the page."))
}

// checkSample checks the text, and the sample if there is one. Nothing is stored.
func (a *App) checkSample(c echo.Context, principal core.Principal, page editorPage) error {
	ctx := c.Request().Context()
	file, faults, err := a.Files.Parse(ctx, []byte(page.Draft.Text))
	if err != nil {
		return a.refuse(c, page, err)
	}
	if len(faults) > 0 {
		page.Faults = newEditorFaults(page.Draft.Text, faults)
		return a.render(c, http.StatusBadRequest, page)
	}
	page.Notice = "The workflow has no errors."
	page.Warnings = newEditorFaults(page.Draft.Text, a.Files.Warnings(file, []byte(page.Draft.Text)))
	if page.Draft.Sample == "" {
		return a.render(c, http.StatusOK, page)
	}
	name := page.Draft.SampleName
	mediaType, known := file.Accepts[0], true
	if strings.Contains(name, ".") {
		mediaType, known = mediatype.OfFile(name, file.Accepts)
	}
	if !known || len(file.Steps) == 0 {
		page.Checked = &sampleView{
			Pill: pages.NewPill("warn", "Not checked"),
			Note: "The workflow accepts " + strings.Join(file.Accepts, ", ") +
				", and the file name of the sample has another type.",
		}
		if known {
			page.Checked.Note = "The workflow has no steps, so nothing is checked."
		}
		return a.render(c, http.StatusOK, page)
	}
	checked, err := a.Samples.Check(ctx, principal.OrgID, file.Definition,
		engines.NewDocument([]byte(page.Draft.Sample), mediaType, name))
	if err != nil {
		return a.refuse(c, page, err)
	}
	page.Checked = newSampleView(checked)
	return a.render(c, http.StatusOK, page)
}

// inferText writes the text anew from the sample. A workflow keeps its slug and its names.
func (a *App) inferText(c echo.Context, principal core.Principal, page editorPage) error {
	ctx := c.Request().Context()
	if page.Draft.Sample == "" || page.Draft.SampleName == "" {
		return a.refuse(c, page, core.InvalidPayload(
			"Paste a sample document and give its file name, such as readings.csv, from which its type is derived."))
	}
	sample := engines.NewDocument([]byte(page.Draft.Sample),
		mediatype.Sent{Filename: page.Draft.SampleName}.Types()[0], page.Draft.SampleName)
	text, err := trySample(ctx, a.Samples, principal.OrgID, sample,
		func(ctx context.Context) (string, error) { return a.inferredText(ctx, sample, page.Workflow) })
	if errors.Is(err, errSampleTimeout) {
		err = core.InvalidPayload("The sample takes too long to read. Use a smaller one.").Because(err)
	}
	if err != nil {
		return a.refuse(c, page, err)
	}
	page.Draft.Text = text
	page.Notice = "The YAML was written from the sample and requires what all of its values have in common. " +
		"Read it before you save it: a sample does not show what other documents may contain."
	return a.render(c, http.StatusOK, page)
}

// inferredText is the YAML for documents such as the sample, of the workflow if there is one. A faulty sample is an
// invalid_payload.
func (a *App) inferredText(ctx context.Context, sample engines.Document, workflow *workflows.Version) (string, error) {
	file, notes, err := files.Infer(ctx, sample)
	if err != nil {
		return "", core.InvalidPayload("The YAML cannot be written from the sample: " + err.Error() + ".").Because(err)
	}
	if workflow != nil {
		file.Slug, file.Name, file.Description = workflow.Slug, workflow.Name, workflow.Description
	}
	text, err := file.Annotated(a.Address+files.SchemaPath, notes)
	return string(text), err
}

func newSampleView(checked formats.Document) *sampleView {
	view := &sampleView{Pill: pages.NewPill("error", "Not checked to the end"), Note: formats.Clean(checked.Error)}
	switch checked.Result { //nolint:exhaustive // The others are results of runs that were not checked to the end.
	case api.RunResultPass:
		view.Pill = pages.NewPill("ok", "Passed")
	case api.RunResultFail:
		view.Pill = pages.NewPill("fail", "Failed")
	}
	counts := checked.Counts()
	view.Summary = core.Plural(counts.Errors, "error") + ", " + core.Plural(counts.Warnings, "warning")
	listed := 0
	for _, step := range checked.Steps {
		if step.Note != "" {
			view.Findings = append(view.Findings, validations.ShownFinding{
				Tone: "idle", Sign: "–",
				Message: formats.Clean(step.Name) + " was skipped: " + formats.Clean(step.Note),
			})
		}
		for _, finding := range step.Findings {
			listed++
			if listed <= sampleFindings {
				shown := validations.NewShownFinding(finding)
				if finding.Line > 0 && finding.Column > 0 {
					shown.Place += ", column " + strconv.Itoa(finding.Column)
				}
				view.Findings = append(view.Findings, shown)
			}
		}
	}
	if listed > sampleFindings {
		view.More = core.Plural(listed-sampleFindings, "more finding") + " not shown"
	}
	return view
}

// keepDraft stores the text as the workflow's draft, with or without errors, or discards the draft.
func (a *App) keepDraft(c echo.Context, principal core.Principal, page editorPage) error {
	ctx := c.Request().Context()
	if page.Draft.Do == actionDiscard {
		if err := a.discardDraft(ctx, principal.OrgID, page.Workflow.ID); err != nil {
			return err
		}
		return pages.Redirect(c, page.Action, "The draft is discarded.")
	}
	storable := utf8.ValidString(page.Draft.Text) && !strings.Contains(page.Draft.Text, "\x00")
	if len(page.Draft.Text) > files.MaxBytes || !storable || len(page.Draft.Base) > maxBase {
		return a.refuse(c, page, core.InvalidPayload("The text must be UTF-8 without NUL, 2 MiB at most."))
	}
	draft := storedDraft{Revision: page.Draft.Revision, Base: page.Draft.Base, Body: page.Draft.Text}
	err := a.saveDraft(ctx, principal, page.Workflow.ID, draft)
	if errors.Is(err, errDraftedMeanwhile) {
		page.Draft.Revision = page.Stored.Revision
	}
	if err != nil {
		return a.refuse(c, page, err)
	}
	_, faults, err := a.Files.Parse(ctx, []byte(page.Draft.Text))
	if err != nil {
		return a.refuse(c, page, err)
	}
	notice := "The draft is saved. It starts no runs until it is published."
	if len(faults) > 0 {
		notice += fmt.Sprintf(" It has %s.", core.Plural(len(faults), "error"))
	}
	return pages.Redirect(c, page.Action, notice)
}

// maxBase bounds the name of a workflow's state.
const maxBase = 100
