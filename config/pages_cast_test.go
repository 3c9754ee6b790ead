package config_test

import (
	"crypto/sha256"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
)

// harbourPages is where harbour's pages are.
const harbourPages = "/app/orgs/harbour-energy/"

// session signs a user in without a password, whose hashing takes long, and returns the session's secret.
func (s *stage) session(tb testing.TB, userID uuid.UUID) string {
	tb.Helper()
	secret := "session-" + uuid.NewString()
	digest := sha256.Sum256([]byte(secret))
	s.exec(tb, `INSERT INTO sessions (digest, user_id, expires_at) VALUES ($1, $2, now() + interval '1 hour')`,
		digest[:], userID)
	return secret
}

// visitor signs a new member of harbour with the role in.
func (s *stage) visitor(tb testing.TB, role core.Role) string {
	tb.Helper()
	return s.session(tb, s.addMember(tb, string(role)+"-"+uuid.NewString(), role))
}

// stranger signs the owner of the other organization in.
func (s *stage) stranger(tb testing.TB) string {
	tb.Helper()
	user, err := s.Users.User(tb.Context(), "owner@tiny-quota.example")
	if err != nil {
		tb.Fatal(err)
	}
	return s.session(tb, user.ID)
}

// page is a GET of a page by the holder of a session; "" has none.
func page(path, session string) call {
	return call{path: path}.in(session)
}

// post is a POST of a form by the holder of a session, sent as browsers do from the service's own pages.
func post(path, session string, fields url.Values) call {
	c := call{method: http.MethodPost, path: path, body: fields.Encode()}.in(session)
	return c.with("Content-Type", "application/x-www-form-urlencoded").with("Sec-Fetch-Site", "same-origin")
}

// in returns the call with a session.
func (c call) in(session string) call {
	if session == "" {
		return c
	}
	return c.with("Cookie", "sv_session="+session)
}

// visit makes a request for a page that has to be answered with the status, and returns the answer's HTML.
func (s *stage) visit(tb testing.TB, status int, c call) string {
	tb.Helper()
	got := s.answerTo(tb, c)
	if got.status != status {
		tb.Fatalf("%s %s: status = %d, want %d; body %s", c.method, c.path, got.status, status, got.body)
	}
	return string(got.body)
}

// answerTo makes a request for a page.
func (s *stage) answerTo(tb testing.TB, c call) answer {
	tb.Helper()
	got, err := s.send(tb.Context(), c)
	if err != nil {
		tb.Fatal(err)
	}
	return got
}

// shows checks that a page has all the texts.
func shows(tb testing.TB, html string, texts ...string) {
	tb.Helper()
	for _, text := range texts {
		if !strings.Contains(html, text) {
			tb.Errorf("the page has no %q:\n%s", text, mainOf(html))
		}
	}
}

// hides checks that a page has none of the texts.
func hides(tb testing.TB, html string, texts ...string) {
	tb.Helper()
	for _, text := range texts {
		if strings.Contains(html, text) {
			tb.Errorf("the page has %q:\n%s", text, mainOf(html))
		}
	}
}

// mainOf is what a page has inside its layout.
func mainOf(html string) string {
	if _, after, found := strings.Cut(html, "<main"); found {
		html, _, _ = strings.Cut(after, "</main>")
	}
	return html
}
