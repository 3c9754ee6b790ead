package edge

import (
	"embed"
	"errors"
	"mime/multipart"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/docs"
)

//go:embed templates/trial/*.html
var trialTemplates embed.FS

// Trial is the page on which members send requests to the API. Their session stands for a token, and everything else
// happens as for a client: roles, rate limits, quotas and idempotency keys count.
type Trial struct {
	// Service answers the requests. It is set when the router is complete.
	Service  http.Handler
	pages    *pages.Set
	maxBytes int64
}

// NewTrial makes the page for requests whose bodies have at most so many bytes.
func NewTrial(maxBytes int64) (*Trial, error) {
	set, err := pages.Parse(trialTemplates, "templates/trial")
	if err != nil {
		return nil, err
	}
	return &Trial{pages: set, maxBytes: maxBytes}, nil
}

// Pages adds the page to the dashboard. The reference does not know the visitor's organization and leads to an address
// without one.
func (t *Trial) Pages(web *echo.Group) {
	web.GET("/try/:operation/", t.atHome)
	org := web.Group(pages.OrgRoute)
	org.GET("/try/:operation/", core.As(api.RoleViewer, "try the API", t.show))
	org.POST("/try/:operation/", core.As(api.RoleViewer, "try the API", t.send))
}

// atHome is GET /app/try/{operation}/: it leads to the page of the organization that the visitor used last.
func (t *Trial) atHome(c echo.Context) error {
	operation, err := t.operation(c)
	if err != nil {
		return err
	}
	visitor, _ := pages.VisitorFrom(c.Request().Context())
	if visitor.Home == "" {
		return c.Redirect(http.StatusSeeOther, pages.Root)
	}
	return c.Redirect(http.StatusSeeOther, pages.Base(visitor.Home)+"try/"+operation.Slug+"/")
}

func (t *Trial) operation(c echo.Context) (*docs.Operation, error) {
	document, err := apiDocument()
	if err != nil {
		return nil, err
	}
	operation, found := document.Find(c.Param("operation"))
	if !found || !operation.IsTriable() {
		return nil, core.NewError(api.CodeNotFound, "There is no such operation, or it cannot be tried here.")
	}
	return operation, nil
}

// trialPage is the form of an operation, and what was sent and answered.
type trialPage struct {
	Operation *docs.Operation
	Fields    []trialField
	Body      *docs.TrialBody
	MaxBytes  int64
	Exchange  *exchange
	Problem   *core.Error
}

// trialField is a parameter of the operation with what was entered.
type trialField struct {
	docs.Parameter

	ID, Value string
	// Fresh is set for the idempotency key, which is another one in each form.
	Fresh bool
}

// show is GET /app/orgs/{org}/try/{operation}/.
func (t *Trial) show(c echo.Context, _ core.Principal) error {
	operation, err := t.operation(c)
	if err != nil {
		return err
	}
	return t.render(c, http.StatusOK, operation, trialPage{})
}

// render shows the form. What was entered stays, except for the key: the next request is another one.
func (t *Trial) render(c echo.Context, status int, operation *docs.Operation, page trialPage) error {
	page.Operation, page.MaxBytes = operation, t.maxBytes
	for _, parameter := range operation.Parameters {
		if parameter.Name == "Request-Id" {
			continue
		}
		field := trialField{Parameter: parameter, ID: fieldID(parameter)}
		field.Value = c.Request().PostFormValue(field.ID)
		if parameter.Name == echoKeyName {
			field.Fresh, field.Value = true, idempotency.NewFormKey()
		}
		page.Fields = append(page.Fields, field)
	}
	if body, takes := operation.TrialBody(); takes {
		if entered := c.Request().PostFormValue("body"); entered != "" {
			body.Text = entered
		}
		page.Body = &body
	}
	return t.pages.Render(c, status, "try", pages.Page{Title: "Try: " + operation.Summary, KeepsForm: true, Data: page})
}

const echoKeyName = "Idempotency-Key"

func fieldID(p docs.Parameter) string { return p.In + "-" + p.Name }

// send is POST /app/orgs/{org}/try/{operation}/.
func (t *Trial) send(c echo.Context, _ core.Principal) error {
	operation, err := t.operation(c)
	if err != nil {
		return err
	}
	// The server cleans up after the request that it knows, which middleware has replaced.
	defer func() {
		if form := c.Request().MultipartForm; form != nil {
			_ = form.RemoveAll() // What is left is left in a folder for temporary files.
		}
	}()
	document, err := t.readForm(c, operation)
	if err != nil {
		return t.refuse(c, operation, err)
	}
	done, err := t.exchange(c, operation, document)
	if err != nil {
		return t.refuse(c, operation, err)
	}
	return t.render(c, http.StatusOK, operation, trialPage{Exchange: done})
}

func (t *Trial) refuse(c echo.Context, operation *docs.Operation, err error) error {
	problem := pages.Refusal(err)
	if problem == nil {
		return err
	}
	return t.render(c, pages.RefusalStatus(c, problem), operation, trialPage{Problem: problem})
}

// formOverhead is what a form may add to the body of the request.
const formOverhead = 64 << 10

// readForm reads the fields, and the file if the operation takes one.
func (t *Trial) readForm(c echo.Context, operation *docs.Operation) (*multipart.FileHeader, error) {
	request := c.Request()
	request.Body = http.MaxBytesReader(c.Response(), request.Body, t.maxBytes+formOverhead)
	err := request.ParseMultipartForm(formOverhead)
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return nil, core.NewError(api.CodePayloadTooLarge, "The request is larger than the service takes.")
	}
	if err != nil && !errors.Is(err, http.ErrNotMultipart) {
		return nil, core.InvalidPayload("The form could not be read. Reload the page and send it again.").Because(err)
	}
	if _, err := core.ConfirmAfterBody(request.Context()); err != nil {
		return nil, err
	}
	if wrong := wrongFields(request, operation); len(wrong) > 0 {
		return nil, core.InvalidPayload("Please look at the marked fields again.", wrong...)
	}
	if request.MultipartForm == nil || len(request.MultipartForm.File["document"]) == 0 {
		return nil, nil //nolint:nilnil // There may be no file.
	}
	return request.MultipartForm.File["document"][0], nil
}

// wrongFields are those that lack a value, or cannot be sent as a parameter.
func wrongFields(request *http.Request, operation *docs.Operation) []api.FieldError {
	var wrong []api.FieldError
	for _, p := range operation.Parameters {
		value := request.PostFormValue(fieldID(p))
		if p.Required && value == "" {
			wrong = append(wrong, api.FieldError{
				Pointer: "/" + fieldID(p), Code: "required", Detail: "must be given",
			})
		}
		if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			wrong = append(wrong, api.FieldError{
				Pointer: "/" + fieldID(p), Code: "text", Detail: "must be one line without control characters",
			})
		}
	}
	return wrong
}
