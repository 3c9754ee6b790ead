package pages

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
)

// Nobody needs a session to send a form, so none is read into memory or into a file however long it is.
func TestFormsAreBounded(t *testing.T) {
	t.Parallel()
	s := setup(t)
	const large = 2 << 20
	member := s.Visitor(t, api.RoleOwner)
	for path, session := range map[string]string{
		"/app/sign-in/": "", "/app/sign-in/code/": "", "/app/password/": "",
		"/app/account/password/":          member,
		fixture.HarbourPages + "members/": member, fixture.HarbourPages + "settings/": member,
		fixture.HarbourPages + "tokens/": member,
	} {
		form := fixture.Post(path, session, url.Values{"email": {strings.Repeat("a", large)}})
		s.Visit(t, http.StatusRequestEntityTooLarge, form)

		// Bodies whose length nobody has said, one of them with a file that would go to a folder for temporary files.
		file := "--b\r\nContent-Disposition: form-data; name=f; filename=f\r\n\r\n" + strings.Repeat("a", large) +
			"\r\n--b--\r\n"
		for contentType, body := range map[string]string{
			"multipart/form-data; boundary=b": file, "application/x-www-form-urlencoded": form.Body,
		} {
			got := s.inChunks(t, form.With("Content-Type", contentType), body)
			if got != http.StatusRequestEntityTooLarge {
				t.Errorf("%s of %s in chunks = %d, want 413", path, contentType, got)
			}
		}
	}
}

// inChunks sends a body without its length, and returns the status of the answer.
func (s *stage) inChunks(tb testing.TB, c call, body string) int {
	tb.Helper()
	request, err := c.Request(tb.Context(), s.Address)
	if err != nil {
		tb.Fatal(err)
	}
	request.Body, request.ContentLength = io.NopCloser(strings.NewReader(body)), -1
	response, err := s.Client.Do(request)
	if err != nil {
		tb.Fatal(err)
	}
	defer response.Body.Close()
	return response.StatusCode
}

// What is no form could name members that no form has, and is read without an end.
func TestFormsAreForms(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.WithPassword(t)
	for contentType, body := range map[string]string{
		"application/json": `{"Email":"` + fixture.VisitorEmail + `","Provider":"evil","ProviderAddress":"https://e"}`,
		"application/xml":  `<f><Email>a@b.example</Email><Provider>evil</Provider></f>`,
		"text/plain":       "email=" + fixture.VisitorEmail,
		"":                 "email=" + fixture.VisitorEmail,
	} {
		form := fixture.Post("/app/sign-in/", "", nil).With("Content-Type", contentType)
		form.Body = body
		html := s.Visit(t, http.StatusUnsupportedMediaType, form)
		fixture.Hides(t, html, "evil")
	}
}

// Other sites send no form of ours, whether it needs a session or not.
func TestFormsComeFromThePagesAlone(t *testing.T) {
	t.Parallel()
	s := setup(t)
	session := s.Visitor(t, api.RoleOwner)
	for _, route := range s.Router.Routes() {
		if route.Method != http.MethodPost || !strings.HasPrefix(route.Path, "/app/") {
			continue
		}
		form := call{Method: http.MethodPost, Path: strings.ReplaceAll(route.Path, ":", "")}.In(session).
			With("Content-Type", "application/x-www-form-urlencoded")
		for _, foreign := range []call{
			form.With("Sec-Fetch-Site", "cross-site"), form.With("Sec-Fetch-Site", "same-site"),
			form.With("Origin", "https://evil.example"), form.With("Origin", "http://evil."+s.Address),
			form.With("Origin", "null"),
		} {
			fixture.Shows(t, s.Visit(t, http.StatusForbidden, foreign), "The form was sent from another site.")
		}
	}
}
