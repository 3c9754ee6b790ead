package workflows

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// newEditor is the page for a new workflow.
func newEditor(base string) editorPage {
	return editorPage{
		Heading: "New workflow", Button: "Create", Action: base + "new-workflow/",
		Hint:  "The slug must be free. The workflow is active at once.",
		Draft: editorDraft{Text: newWorkflowText},
	}
}

// importEditor is the page that brings in a file.
func importEditor(base string) editorPage {
	return editorPage{
		Heading: "Import a workflow", Button: "Import", Action: base + "import-workflow/", Upload: true,
		Hint: "Where a workflow has the file's slug, the file becomes its next version, if it says anything new.",
	}
}

// editEditor is the page for the next version of a workflow.
func editEditor(base string, workflow Version) editorPage {
	return editorPage{
		Heading: "Edit " + workflow.Name, Button: "Save as version " + strconv.Itoa(workflow.Number+1),
		Action: base + "workflows/" + workflow.Slug + "/edit/", Workflow: &workflow,
		Hint: "A change of the steps is a new version, which new runs use; runs that were started before keep " +
			"theirs. The slug stays.",
	}
}

// showNew is GET /app/orgs/{org}/new-workflow/.
func (a *App) showNew(c echo.Context) error {
	return a.showEditor(c, newEditor(pages.Base(c.Param("org"))))
}

// showImport is GET /app/orgs/{org}/import-workflow/.
func (a *App) showImport(c echo.Context) error {
	return a.showEditor(c, importEditor(pages.Base(c.Param("org"))))
}

// showEdit is GET /app/orgs/{org}/workflows/{id}/edit/.
func (a *App) showEdit(c echo.Context) error {
	_, workflow, err := a.editable(c)
	if err != nil {
		return err
	}
	text, err := fileOf(workflow).YAML(a.address + FileSchemaPath)
	if err != nil {
		return err
	}
	page := editEditor(pages.Base(c.Param("org")), workflow)
	page.Draft = editorDraft{Began: beginningOf(workflow), Text: string(text)}
	return a.showEditor(c, page)
}

// editable returns the latest version of a workflow for somebody who may edit it.
func (a *App) editable(c echo.Context) (core.Principal, Version, error) {
	principal, err := core.Caller(c)
	if err != nil {
		return core.Principal{}, Version{}, err
	}
	workflow, err := a.service.Find(c.Request().Context(), principal.OrgID, c.Param("id"), 0)
	if err != nil {
		return core.Principal{}, Version{}, err
	}
	return principal, workflow, principal.Require(core.RoleAuthor, "edit workflows")
}

func (a *App) showEditor(c echo.Context, page editorPage) error {
	if _, err := authorOf(c); err != nil {
		return err
	}
	return a.renderEditor(c, http.StatusOK, page)
}

// renderEditor shows the form. One that was not sent yet gets its key.
func (a *App) renderEditor(c echo.Context, status int, page editorPage) error {
	if page.Draft.Key == "" {
		key, err := idempotency.NewFormKey()
		if err != nil {
			return err
		}
		page.Draft.Key = key
	}
	return a.pages.Render(c, status, "editor", pages.Page{
		Title: page.Heading, Section: pages.SectionWorkflows, Data: page,
	})
}

// saveNew is POST /app/orgs/{org}/new-workflow/.
func (a *App) saveNew(c echo.Context) error {
	principal, err := authorOf(c)
	if err != nil {
		return err
	}
	return a.save(c, newEditor(pages.Base(principal.OrgSlug)), endpointCreate,
		func(ctx context.Context, tx db.Tx, file File, _ editorDraft) (Version, importOutcome, error) {
			version, err := create(ctx, tx, principal.OrgID, file.draft())
			return version, importCreated, err
		})
}

// saveImport is POST /app/orgs/{org}/import-workflow/.
func (a *App) saveImport(c echo.Context) error {
	principal, err := authorOf(c)
	if err != nil {
		return err
	}
	return a.save(c, importEditor(pages.Base(principal.OrgSlug)), endpointImport,
		func(ctx context.Context, tx db.Tx, file File, _ editorDraft) (Version, importOutcome, error) {
			return importFile(ctx, tx, principal.OrgID, file)
		})
}

// saveEdit is POST /app/orgs/{org}/workflows/{id}/edit/.
func (a *App) saveEdit(c echo.Context) error {
	principal, workflow, err := a.editable(c)
	if err != nil {
		return err
	}
	return a.save(c, editEditor(pages.Base(principal.OrgSlug), workflow), endpointVersion,
		func(ctx context.Context, tx db.Tx, file File, draft editorDraft) (Version, importOutcome, error) {
			return edit(ctx, tx, workflow, draft.Began, file)
		})
}

// writing is what an editor's form does with its checked file.
type writing func(ctx context.Context, tx db.Tx, file File, draft editorDraft) (Version, importOutcome, error)

// save does the work of an editor's form once, however often it is sent. What is wrong with the text is shown beside
// it, and nothing that was written is lost.
func (a *App) save(c echo.Context, page editorPage, endpoint idempotency.Endpoint, write writing) error {
	principal, err := core.Caller(c)
	if err != nil {
		return err
	}
	if page.Draft, err = readEditor(c); err != nil {
		return a.refuseEditor(c, page, err)
	}
	key, err := a.guard.FormKey(principal, page.Draft.Key)
	if err != nil {
		page.Draft.Key = ""
		return a.refuseEditor(c, page, err)
	}
	file, faults, err := a.files.Parse(c.Request().Context(), []byte(page.Draft.Text))
	if err != nil {
		return err
	}
	if page.Workflow != nil && len(faults) == 0 && file.Slug != page.Workflow.Slug {
		faults = append(faults, slugHasToStay(page.Workflow.Slug))
	}
	if len(faults) > 0 {
		page.Faults = newEditorFaults(page.Draft.Text, faults)
		return a.renderEditor(c, http.StatusBadRequest, page)
	}
	operation := idempotency.Operation{
		Endpoint: endpoint, Target: page.target(), Content: idempotency.DigestBytes([]byte(page.Draft.Text)),
	}
	answer, err := a.guard.Do(c, key, operation, func(ctx context.Context, tx db.Tx) (idempotency.Response, error) {
		version, outcome, err := write(ctx, tx, file, page.Draft)
		if err != nil {
			return idempotency.Response{}, err
		}
		return announceImport(ctx, tx, principal, version, outcome)
	})
	if err != nil {
		return a.refuseEditor(c, page, err)
	}
	return redirectToSaved(c, answer)
}

// target tells the forms for different workflows apart.
func (p editorPage) target() string {
	if p.Workflow == nil {
		return ""
	}
	return p.Workflow.ID.String() + "/" + p.Draft.Began
}

func slugHasToStay(slug string) FileError {
	return FileError{ConfigError: engines.ConfigError{
		Pointer: "/slug", Code: "slug", Detail: "must stay " + slug + "; a file with another slug is another workflow",
	}}
}

// refuseEditor shows the form again with what was written.
func (a *App) refuseEditor(c echo.Context, page editorPage, err error) error {
	page.Problem = pages.Refusal(err)
	if page.Problem == nil {
		return err
	}
	if page.Problem.Code == core.CodeKeyReused {
		page.Problem.Detail = "This form was saved before, with another text. Its text is kept here: save again to " +
			"have it too."
		page.Draft.Key = ""
	}
	if len(page.Problem.Fields) > 0 {
		page.Faults = newEditorFaults(page.Draft.Text, faultsOf(page.Problem, page.Draft.Text))
	}
	if errors.Is(err, errEditedMeanwhile) {
		page.Draft.Began = beginningOf(*page.Workflow)
	}
	return a.renderEditor(c, pages.RefusalStatus(c, page.Problem), page)
}

// redirectToSaved leads to the workflow of an answer, and says what has become of the form.
func redirectToSaved(c echo.Context, answer idempotency.Answer) error {
	var saved importBody
	if err := json.Unmarshal(answer.Response.Body, &saved); err != nil {
		return fmt.Errorf("read what was saved: %w", err)
	}
	var notice string
	switch saved.Outcome {
	case importCreated:
		notice = "Created " + saved.Workflow.Name + "."
	case importVersioned:
		notice = fmt.Sprintf("Saved version %d.", saved.Workflow.Version)
	case importRenamed:
		notice = "Saved the name and the description. The steps are the same, so there is no new version."
	case importUnchanged:
		notice = "The workflow says the same already. Nothing was changed."
	}
	return pages.Redirect(c, pages.Base(c.Param("org"))+"workflows/"+saved.Workflow.Slug+"/", notice)
}
