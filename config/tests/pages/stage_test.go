package pages

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/simplevalidations/simplevalidations/config"
	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
)

func TestMain(m *testing.M) { fixture.Main(m) }

type (
	call   = fixture.Call
	answer = fixture.Answer
)

// stage is the service with what the tests of this package do to it.
type stage struct {
	*fixture.Stage

	clockStands bool
}

func setup(tb testing.TB, change ...func(*config.Settings)) *stage {
	tb.Helper()
	return &stage{Stage: fixture.Setup(tb, change...)}
}

// harbour is a GET of a page of harbour with a session, and harbourForm a POST of a form to it.
func harbour(path, session string) call { return fixture.Page(fixture.HarbourPages+path, session) }

func harbourForm(path, session string, fields url.Values) call {
	return fixture.Post(fixture.HarbourPages+path, session, fields)
}

// see makes a request for a page that has to be answered with it, and returns its HTML.
func (s *stage) see(tb testing.TB, c call) string {
	tb.Helper()
	return s.Visit(tb, http.StatusOK, c)
}

// shows wants a page with all of the texts, and hides one with none of them.
func (s *stage) shows(tb testing.TB, c call, texts ...string) {
	tb.Helper()
	fixture.Shows(tb, s.see(tb, c), texts...)
}

func (s *stage) hides(tb testing.TB, c call, texts ...string) {
	tb.Helper()
	fixture.Hides(tb, s.see(tb, c), texts...)
}
