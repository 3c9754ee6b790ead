package pages

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/config"
	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
)

const tryPages = fixture.HarbourPages + "try/"

func accessToTrial() map[string]fixture.Access {
	return map[string]fixture.Access{
		"GET /app/try/:operation/": {
			Call: fixture.Page("/app/try/read-me/", ""), Least: api.RoleViewer, OK: http.StatusSeeOther,
			Foreign: http.StatusSeeOther,
		},
		"GET /app/orgs/:org/try/:operation/":  orgPage("try/read-me/", api.RoleViewer),
		"POST /app/orgs/:org/try/:operation/": orgForm("try/read-me/", nil, api.RoleViewer, http.StatusOK),
	}
}

// tryStart is the form of a start with a document.
func tryStart(tb testing.TB, session string, fields map[string]string, document string) call {
	tb.Helper()
	form := fixture.Upload{Field: "document", Filename: "märz.csv", ContentType: "text/csv", Content: document}
	for name, value := range fields {
		form = form.With(name, value)
	}
	return form.To(tb, tryPages+"start-run/", session)
}

// triedKey is the key that a form has.
func triedKey(tb testing.TB, page string) string {
	tb.Helper()
	found := regexp.MustCompile(`name="header-Idempotency-Key" value="([^"]+)"`).FindStringSubmatch(page)
	if found == nil {
		tb.Fatal("the form has no key")
	}
	return found[1]
}

func TestTrialStartsARunForEachForm(t *testing.T) {
	t.Parallel()
	s := setup(t)
	document := fixture.SampleText(t, "good/meter-readings.csv")
	for _, role := range []api.Role{api.RoleExecutor, api.RoleOwner} {
		session := s.Visitor(t, role)
		form := s.see(t, fixture.Page(tryPages+"start-run/", session))
		fields := map[string]string{"path-id": "meter-readings", "header-Idempotency-Key": triedKey(t, form)}
		first := s.see(t, tryStart(t, session, fields, document))
		fixture.Shows(t, first, "201 Created", "X-Filename: UTF-8&#39;&#39;m%C3%A4rz.csv", "See the run</a>",
			"Idempotency-Key: "+fields["header-Idempotency-Key"])
		if next := triedKey(t, first); next == fields["header-Idempotency-Key"] {
			t.Error("the next form has the same key")
		}
		again := s.see(t, tryStart(t, session, fields, document))
		fixture.Shows(t, again, "201 Created", "Idempotent-Replayed: true")
	}
	want := fixture.RowCounts{Keys: 2, Submissions: 2, Runs: 2, Jobs: 2, Audits: 2, Used: 2}
	if diff := cmp.Diff(want, s.RowCounts(t)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

func TestTrialIsAnsweredLikeAnyClient(t *testing.T) {
	t.Parallel()
	s := setup(t)
	document := fixture.SampleText(t, "good/meter-readings.csv")
	fields := map[string]string{"path-id": "meter-readings"}
	viewer := s.Visitor(t, api.RoleViewer)
	s.shows(t, tryStart(t, viewer, fields, document), "403 Forbidden", "permission_denied")
	run := s.Started(t, s.Start(t, "").By(s.Tiny.Tokens.Executor)).ID
	for values, want := range map[string]string{
		"read-run?path-id=" + run:                            "not_found",
		"read-run?path-id=..%2Ftokens":                       "not_found",
		"read-run?path-id=%3Fx":                              "not_found",
		"list-runs?query-page_size=0":                        "invalid_parameter",
		"list-runs?query-page_size=1&header-Request-Id=mine": "200 OK",
		"list-members":                                       "executor@",
	} {
		path, query, _ := strings.Cut(values, "?")
		form, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		page := s.see(t, fixture.Post(tryPages+path+"/", viewer, form))
		fixture.Shows(t, page, want)
		fixture.Hides(t, page, "Request-Id: mine", "sv_session", viewer)
	}
	if counts := s.RowCounts(t); counts.Runs != 1 {
		t.Errorf("runs = %d, want only that of the other organization", counts.Runs)
	}
}

func TestTrialRefusesWhatItCannotSend(t *testing.T) {
	t.Parallel()
	s := setup(t, func(settings *config.Settings) { settings.MaxBodyBytes = 2000 })
	session := s.Visitor(t, api.RoleOwner)
	for _, operation := range []string{"start-run", "read-run", "cancel-run", "create-workflow", "list-members"} {
		s.see(t, fixture.Page(tryPages+operation+"/", session))
	}
	// What changes who may do what, or shows a secret, is not to be tried with a session.
	for _, operation := range []string{
		"create-token", "rotate-token", "invite-member", "change-member", "remove-member", "leave-organization",
		"read-signing-secrets", "stream-events", "call-back", "legacy-start-run", "read-liveness", "nothing",
	} {
		s.Visit(t, http.StatusNotFound, fixture.Page(tryPages+operation+"/", session))
		s.Visit(t, http.StatusNotFound, fixture.Post(tryPages+operation+"/", session, url.Values{}))
		s.Visit(t, http.StatusNotFound, fixture.Page("/app/try/"+operation+"/", session))
	}
	s.Visit(t, http.StatusBadRequest, fixture.Post(tryPages+"read-run/", session, url.Values{}))
	s.Visit(t, http.StatusBadRequest, fixture.Post(tryPages+"start-run/", session, url.Values{"path-id": {"x"}}))
	s.Visit(t, http.StatusBadRequest, fixture.Post(tryPages+"rerun/", session, url.Values{
		"path-id": {"x"}, "header-Idempotency-Key": {"a\nCookie: b"},
	}))
	big := tryStart(t, session, map[string]string{"path-id": "meter-readings"}, strings.Repeat("x", 100_000))
	s.Visit(t, http.StatusRequestEntityTooLarge, big)
}

func TestTrialLeadsToTheOrganizationOfTheVisitor(t *testing.T) {
	t.Parallel()
	s := setup(t)
	answer := s.AnswerTo(t, fixture.Page("/app/try/start-run/", s.Visitor(t, api.RoleViewer)))
	fixture.WantHeader(t, answer, map[string]string{"Location": tryPages + "start-run/"})
}

func TestTrialKeepsToTheRateLimits(t *testing.T) {
	t.Parallel()
	s := setup(t, func(settings *config.Settings) { settings.RequestsPerSecond = 0.01 })
	session := s.Visitor(t, api.RoleViewer)
	form := fixture.Post(tryPages+"list-runs/", session, url.Values{})
	s.shows(t, form, "200 OK")
	s.shows(t, form, "429 Too Many Requests", "rate_limited")
}
