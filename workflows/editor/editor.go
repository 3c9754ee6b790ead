package editor

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/validations/engines"
	"github.com/simplevalidations/simplevalidations/workflows"
	"github.com/simplevalidations/simplevalidations/workflows/files"
)

// editorPage is the form in which a workflow is written as YAML.
type editorPage struct {
	// Heading and Button name what the form does, and Hint its effect.
	Heading, Hint, Button string
	Action                string
	// Workflow is the one that gets a new version; nil for a new one.
	Workflow *workflows.Version
	// Upload offers a file input instead of the text.
	Upload bool
	Draft  editorDraft
	Faults []editorFault
	// Warnings are about a text without errors.
	Warnings []editorFault
	// Stored is the draft that is stored; its Revision is 0 if there is none.
	Stored storedDraft
	// Notice says what was done, without leaving the page.
	Notice string
	// Checked is the result of checking the sample; nil if none was checked.
	Checked *sampleView
	// Changes leads to what was saved since the text was made; "" if nothing was.
	Changes string
	// Problem is a refusal that is not about a line of the text.
	Problem *core.Error
	// Unsaved is set if the text is stored nowhere, so that leaving the page would lose it.
	Unsaved bool
}

// Rows is how many lines the field for the text has: all of them and one more.
func (p editorPage) Rows() int { return max(strings.Count(p.Draft.Text, "\n")+2, editorRows) }

// Numbers are the numbers of the lines, those with errors marked.
func (p editorPage) Numbers() template.HTML {
	bad := p.badLines()
	var numbers strings.Builder
	for line := 1; line <= min(strings.Count(p.Draft.Text, "\n")+1, maxNumbered); line++ {
		n := strconv.Itoa(line)
		if bad[line] {
			n = "<b>" + n + "</b>"
		}
		numbers.WriteString(n + "\n")
	}
	return template.HTML(numbers.String()) //nolint:gosec // It has numbers and the tags from here.
}

// BadLines lists the lines that have errors.
func (p editorPage) BadLines() string {
	var lines []string
	for _, line := range slices.Sorted(maps.Keys(p.badLines())) {
		lines = append(lines, strconv.Itoa(line))
	}
	return strings.Join(lines, " ")
}

func (p editorPage) badLines() map[int]bool {
	bad := make(map[int]bool)
	for _, fault := range p.Faults {
		if fault.Line > 0 {
			bad[fault.Line] = true
		}
	}
	return bad
}

const (
	editorRows = 12
	// maxNumbered bounds the lines that are numbered.
	maxNumbered = 2000
)

// newEditor is the page for a new workflow.
func newEditor(base string) editorPage {
	return editorPage{
		Heading: "New workflow", Button: "Create", Action: base + "new-workflow/",
		Hint:  "The slug must be free. The workflow is active at once.",
		Draft: editorDraft{Text: newWorkflowText},
	}
}

// importEditor is the page that imports a file.
func importEditor(base string) editorPage {
	return editorPage{
		Heading: "Import a workflow", Button: "Import", Action: base + "import-workflow/", Upload: true,
		Hint: "If a workflow has the file's slug, the file becomes its next version if it differs.",
	}
}

// editEditor is the page for the next version of a workflow.
func nextEditor(base string, workflow workflows.Version) editorPage {
	return editorPage{
		Heading: "Edit " + workflow.Name, Button: "Save as version " + strconv.Itoa(workflow.Number+1),
		Action: base + "workflows/" + workflow.Slug + "/edit/", Workflow: &workflow,
		Hint: "New steps make a new version for new runs. Earlier runs keep theirs. The slug cannot change.",
	}
}

// showNew is GET /app/orgs/{org}/new-workflow/.
func (a *App) showNew(c echo.Context, principal core.Principal) error {
	return a.render(c, http.StatusOK, newEditor(pages.Base(principal.OrgSlug)))
}

// showImport is GET /app/orgs/{org}/import-workflow/.
func (a *App) showImport(c echo.Context, principal core.Principal) error {
	return a.render(c, http.StatusOK, importEditor(pages.Base(principal.OrgSlug)))
}

// showEdit is GET /app/orgs/{org}/workflows/{id}/edit/.
func (a *App) showEdit(c echo.Context, principal core.Principal, workflow workflows.Version) error {
	text, err := workflow.YAML(a.Address)
	if err != nil {
		return err
	}
	page := nextEditor(pages.Base(principal.OrgSlug), workflow)
	page.Draft = editorDraft{Base: workflow.State(), Text: string(text)}
	page.Stored, err = a.findDraft(c.Request().Context(), principal.OrgID, workflow.ID)
	if err != nil {
		return err
	}
	if page.Stored.Revision > 0 {
		page.Draft = editorDraft{Base: page.Stored.Base, Text: page.Stored.Body, Revision: page.Stored.Revision}
	} else {
		page.Warnings = newEditorFaults(page.Draft.Text, a.Files.Warnings(workflow.File(), text))
	}
	return a.render(c, http.StatusOK, page)
}

// render shows the form. One that was not sent yet gets its key.
func (a *App) render(c echo.Context, status int, page editorPage) error {
	if page.Draft.Key == "" {
		page.Draft.Key = idempotency.NewFormKey()
	}
	saved, err := a.savedText(page)
	if err != nil {
		return err
	}
	page.Unsaved = page.Draft.Text != saved
	return a.pages.Render(c, status, "editor", pages.Page{
		Title: page.Heading, Section: pages.SectionWorkflows, KeepsForm: true, Data: page,
	})
}

// savedText is what the editor shows to those who come back to it.
func (a *App) savedText(page editorPage) (string, error) {
	switch {
	case page.Stored.Revision > 0:
		return page.Stored.Body, nil
	case page.Workflow != nil:
		text, err := page.Workflow.YAML(a.Address)
		return string(text), err
	case page.Upload:
		return "", nil
	default:
		return newWorkflowText, nil
	}
}

// saveNew is POST /app/orgs/{org}/new-workflow/.
func (a *App) saveNew(c echo.Context, principal core.Principal) error {
	return a.save(c, principal, newEditor(pages.Base(principal.OrgSlug)), workflows.EndpointCreate,
		func(file files.File, warnings []files.Fault, _ editorDraft) idempotency.Work {
			return workflows.CreateFileOnce(principal, file, warnings)
		})
}

// saveImport is POST /app/orgs/{org}/import-workflow/.
func (a *App) saveImport(c echo.Context, principal core.Principal) error {
	return a.save(c, principal, importEditor(pages.Base(principal.OrgSlug)), workflows.EndpointImport,
		func(file files.File, warnings []files.Fault, _ editorDraft) idempotency.Work {
			return workflows.ImportOnce(principal, file, warnings)
		})
}

// saveEdit is POST /app/orgs/{org}/workflows/{id}/edit/.
func (a *App) saveEdit(c echo.Context, principal core.Principal, workflow workflows.Version) error {
	return a.save(c, principal, nextEditor(pages.Base(principal.OrgSlug), workflow), workflows.EndpointVersion,
		func(file files.File, warnings []files.Fault, draft editorDraft) idempotency.Work {
			return workflows.EditOnce(principal, workflow, draft.Base, file, warnings,
				func(ctx context.Context, tx db.Tx) error {
					return dropDraft(ctx, tx, workflow.OrgID, workflow.ID, draft.Revision)
				})
		})
}

// save does the work of an editor's form once, however often it is sent. The page of a refusal keeps the text.
func (a *App) save(
	c echo.Context, principal core.Principal, page editorPage, endpoint idempotency.Endpoint,
	work func(file files.File, warnings []files.Fault, draft editorDraft) idempotency.Work,
) error {
	var err error
	if page.Draft, err = readEditor(c); err != nil {
		return a.refuse(c, page, err)
	}
	if page.Draft.Do != actionPublish {
		return a.assist(c, principal, page)
	}
	key, err := a.Guard.FormKey(principal, page.Draft.Key)
	if err != nil {
		page.Draft.Key = ""
		return a.refuse(c, page, err)
	}
	file, faults, err := a.Files.Parse(c.Request().Context(), []byte(page.Draft.Text))
	if err != nil {
		return a.refuse(c, page, err)
	}
	if page.Workflow != nil && len(faults) == 0 && file.Slug != page.Workflow.Slug {
		faults = append(faults, files.Fault{ConfigError: engines.ConfigError{
			Pointer: "/slug", Code: "slug",
			Detail: "must stay " + page.Workflow.Slug + "; a file with another slug is another workflow",
		}})
	}
	if len(faults) > 0 {
		page.Faults = newEditorFaults(page.Draft.Text, faults)
		return a.render(c, http.StatusBadRequest, page)
	}
	operation := idempotency.Operation{
		Endpoint: endpoint, Target: page.target(), Content: idempotency.DigestBytes([]byte(page.Draft.Text)),
	}
	warnings := a.Files.Warnings(file, []byte(page.Draft.Text))
	answer, err := a.Guard.Do(c, key, operation, work(file, warnings, page.Draft))
	if err != nil {
		return a.refuse(c, page, err)
	}
	slug, notice, err := workflows.Saved(answer.Response)
	if err != nil {
		return err
	}
	return pages.Redirect(c, pages.Base(principal.OrgSlug)+"workflows/"+slug+"/", notice)
}

// changesSince is the address of the diff since the base of the edit; "" if there is no version to compare.
func changesSince(c echo.Context, page editorPage) string {
	base, _, _ := strings.Cut(page.Draft.Base, "-")
	number, err := strconv.Atoi(base)
	if err != nil || number < 1 || number >= page.Workflow.Number {
		return ""
	}
	return fmt.Sprintf("%sversions/%d/diff/?with=%d",
		strings.TrimSuffix(c.Request().URL.Path, "edit/"), page.Workflow.Number, number)
}

// target distinguishes the forms of different workflows.
func (p editorPage) target() string {
	if p.Workflow == nil {
		return ""
	}
	return p.Workflow.ID.String() + "/" + p.Draft.Base
}

// refuse shows the form again with its text.
func (a *App) refuse(c echo.Context, page editorPage, err error) error {
	page.Problem = pages.Refusal(err)
	if page.Problem == nil {
		return err
	}
	if page.Problem.Code == api.CodeKeyReused {
		page.Problem.Detail = "This form was saved before, with another text. Save again to save this text, too."
		page.Draft.Key = ""
	}
	if len(page.Problem.Fields) > 0 {
		page.Faults = newEditorFaults(page.Draft.Text, faultsOf(page.Problem, page.Draft.Text))
	}
	if errors.Is(err, workflows.ErrEditedMeanwhile) {
		page.Changes = changesSince(c, page)
		page.Draft.Base = page.Workflow.State()
	}
	return a.render(c, pages.RefusalStatus(c, page.Problem), page)
}
