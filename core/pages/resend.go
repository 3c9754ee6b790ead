package pages

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
)

// maxResend is the largest form that is repeated on the page of an ended session: a workflow in the editor, with a
// sample and the columns of its tables.
const maxResend = 2<<20 + 512<<10

// passwordForms is the part of the dashboard whose forms hold passwords, which are never written into a page.
const passwordForms = Root + "account/"

// The fields with which visitors show who they are, beside those of any form. They are never written into a page.
const (
	ProofPassword = "proof-password"
	ProofCode     = "proof-code"
)

// IsProof reports whether it is the name of such a field.
func IsProof(name string) bool { return name == ProofPassword || name == ProofCode }

// resend is a form that came without a session. The page of the error has a copy of it, so that the visitor can use
// another tab to sign in, and send it again.
type resend struct {
	Action    string
	Multipart bool
	Fields    []resendField
	// SignIn leads to the organization's pages, because not every form's address is also a page.
	SignIn string
	// Files reports whether the form had files, which a page cannot hold.
	Files bool
}

type resendField struct{ Name, Value string }

// newResend reads the form that was sent. It returns nil for a form that is too large, cannot be read, was read before
// or holds a password. Forms of other sites do not get here: they are refused before the session is looked up.
func newResend(c echo.Context) *resend {
	request := c.Request()
	address := request.URL.Path
	if request.Method != http.MethodPost || strings.HasPrefix(address, passwordForms) {
		return nil
	}
	request.Body = http.MaxBytesReader(c.Response(), request.Body, maxResend)
	form := &resend{
		Action: request.URL.RequestURI(),
		SignIn: SignInAddress + "?" + url.Values{"next": {Base(OrgOf(address))}}.Encode(),
	}
	if isMultipart(request) {
		form.Multipart = true
		if request.ParseMultipartForm(maxResend) != nil {
			return nil
		}
		form.Files = len(request.MultipartForm.File) > 0
	} else if request.ParseForm() != nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(request.PostForm)) {
		for _, value := range request.PostForm[name] {
			// Browsers send a field for files empty if none was chosen. Left out, no field of it is sent as a text.
			if value != "" && !IsProof(name) {
				form.Fields = append(form.Fields, resendField{name, value})
			}
		}
	}
	return form
}

func isMultipart(request *http.Request) bool {
	return strings.HasPrefix(request.Header.Get(echo.HeaderContentType), echo.MIMEMultipartForm)
}
