package pages

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest/browser"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
)

// pageRow is a page in one state, as somebody sees it in a browser.
type pageRow struct {
	// name names the page's test and its pictures, like "runs-empty".
	name string
	path string
	// route is the page's in the router; the path alone where it is the same.
	route string
	// session is the visitor's; "" for a page that needs none.
	session string
	// then leads from the path to the page where it is the answer to a form.
	then func(*browser.Tab)
	// reviewed is what axe-core could not decide, with the reason why it is right.
	reviewed []browser.Review
	// foreign is the selector of what others wrote.
	foreign string
	// alike tells that another row has the same template and more of everything, so that fewer looks are enough.
	alike bool
}

// pageRows are all pages that a browser looks at: a page of the dashboard has a row for each of its states.
func (s *stage) pageRows(tb testing.TB) []pageRow {
	tb.Helper()
	for _, key := range []string{"seeded-1", "seeded-2"} {
		s.Started(tb, s.Start(tb, key))
	}
	s.Started(tb, s.Start(tb, "seeded-bad").WithBody("text/csv", fixture.SampleText(tb, "bad/meter-readings.csv")))
	s.Work(tb)
	owner := s.Visitor(tb, api.RoleOwner)
	// Pictures show the names of people, and not those of tests.
	s.Exec(tb, `UPDATE users SET name = 'Olivia Marsh' WHERE name LIKE 'owner-%'`)
	return slices.Concat(
		s.rowsOfVisitors(tb, owner),
		s.rowsOfOperators(tb),
		s.rowsOfRuns(tb, owner),
		s.rowsOfKeys(tb, owner),
		s.rowsOfWebhooks(tb, owner),
		rowsOfOrg(tb, "seeded", "harbour-energy", owner),
		rowsOfOrg(tb, "empty", "tiny-quota", s.Stranger(tb)),
		rowsOfDocs(tb),
	)
}

// rowsOfOrg are the pages of an organization that is in a state, as its owner sees them.
func rowsOfOrg(tb testing.TB, state, slug, owner string) []pageRow {
	tb.Helper()
	row := func(name, path, route string) pageRow {
		return pageRow{
			name: name + "-" + state, path: "/app/orgs/" + slug + "/" + path,
			route: "/app/orgs/:org/" + route, session: owner,
		}
	}
	return []pageRow{
		row("runs", "runs/", "runs/"),
		row("launch", "workflows/meter-readings/launch/", "workflows/:id/launch/"),
		row("launched", "workflows/meter-readings/launch/"+idempotency.NewFormKey()+"/", "workflows/:id/launch/:key/"),
		row("workflows", "workflows/", "workflows/"),
		row("workflow", "workflows/meter-readings/", "workflows/:id/"),
		row("workflow-edit", "workflows/meter-readings/edit/", "workflows/:id/edit/"),
		row("workflow-new", "new-workflow/", "new-workflow/"),
		row("workflow-import", "import-workflow/", "import-workflow/"),
		row("versions", "workflows/meter-readings/versions/", "workflows/:id/versions/"),
		row("version", "workflows/meter-readings/versions/1/", "workflows/:id/versions/:number/"),
		row("overview", "", ""),
		row("search", "search/?q=nothing-like-that", "search/"),
		row("keys", "keys/", "keys/"),
		row("requests", "requests/", "requests/"),
		row("usage", "usage/", "usage/"),
		row("tokens", "tokens/", "tokens/"),
		row("members", "members/", "members/"),
		row("webhooks", "webhooks/", "webhooks/"),
		row("audit", "audit/", "audit/"),
		row("settings", "settings/", "settings/"),
		row("try", "try/start-run/", "try/:operation/"),
	}
}

// rowsOfKeys are the pages of a key that was used again and of one whose request has stopped.
func (s *stage) rowsOfKeys(tb testing.TB, owner string) []pageRow {
	tb.Helper()
	s.Started(tb, s.Start(tb, "seeded-1"))
	s.Refused(tb, api.CodeKeyReused, s.Start(tb, "seeded-1").WithBody("text/csv", "other"))
	for range 2 {
		s.Started(tb, s.Start(tb, ""))
	}
	if _, err := s.Activity.Flush(tb.Context(), s.DB); err != nil {
		tb.Fatal(err)
	}
	row := func(name, id string) pageRow {
		return pageRow{
			name: name, path: fixture.HarbourPages + "keys/" + id + "/", route: "/app/orgs/:org/keys/:id/",
			session: owner,
		}
	}
	return []pageRow{
		row("key-finished", s.Entry(tb, "seeded-1").ID),
		row("key-stranded", s.strandedKey(tb, "stuck").String()),
		{
			name: "request", path: fixture.HarbourPages + "requests/" + s.loggedStart(tb, "seeded-1") + "/",
			route: "/app/orgs/:org/requests/:id/", session: owner,
		},
	}
}

// reviewedEverywhere is what axe-core cannot decide about parts that many pages have.
func reviewedEverywhere() []browser.Review {
	const contrast = "color-contrast"
	return []browser.Review{
		{Rule: contrast, Target: `span[aria-hidden="true"]`, Reason: "A sign has the color of the word beside it."},
		{Rule: contrast, Target: "> span:nth-child(1)", Reason: "A sign has the color of the word beside it."},
		{Rule: contrast, Target: ".run > span", Reason: "A sign has the color of the word beside it."},
		{Rule: contrast, Target: ".ok > span", Reason: "A sign has the color of the word beside it."},
		{Rule: contrast, Target: ".chip > span", Reason: "The cross of a chip has the color of its words."},
		{Rule: contrast, Target: ".pill > span", Reason: "A sign has the color of the word beside it."},
		{Rule: contrast, Target: ".notes", Reason: "A sign has the color of the words beside it."},
		{Rule: contrast, Target: ".fail > span", Reason: "A sign has the color of the words beside it."},
		{Rule: contrast, Target: "> td:nth-child(", Reason: "A cell of one character has the color of its row."},
		{Rule: contrast, Target: "> span > bdi", Reason: "A text that its column cuts off stands on its row alone."},
		{Rule: contrast, Target: ".end[y=", Reason: "Charts are labeled in the muted color of the text around them."},
		{Rule: contrast, Target: "text[", Reason: "Charts are labeled in the muted color of the text around them."},
	}
}

// rowsOfVisitors are the pages that belong to a visitor and not to an organization.
func (s *stage) rowsOfVisitors(tb testing.TB, owner string) []pageRow {
	tb.Helper()
	nobody, err := s.Users.Accounts.EnsureUser(tb.Context(), "nobody@harbour-energy.example", "Nobody")
	if err != nil {
		tb.Fatal(err)
	}
	invited, err := s.Users.Accounts.EnsureUser(tb.Context(), "invited@b.example", "Invited")
	if err != nil {
		tb.Fatal(err)
	}
	session := s.Session(tb, invited.ID)
	link := s.LinkOf(tb, s.Invited(tb, invited.Email))
	s.Invited(tb, "kim@b.example")
	const invitation = "/app/invitations/:token/"
	tried := fixture.HarbourPages + "try/"
	return []pageRow{
		{
			name: "try-answered", path: tried + "list-runs/", route: "/app/orgs/:org/try/:operation/", session: owner,
			then: func(tab *browser.Tab) { tab.Follow("form.launch .btn.main") },
		},
		{name: "invitation", path: link, route: invitation},
		{name: "invitation-accept", path: link, route: invitation, session: session},
		{name: "invitation-of-another", path: link, route: invitation, session: owner},
		{name: "account-invited", path: "/app/account/", session: session},
		{
			name: "invitation-link", path: fixture.HarbourPages + "members/", route: "/app/orgs/:org/members/",
			session: owner,
			then: func(tab *browser.Tab) {
				// The newest invitation is the first. The one before it keeps its link.
				tab.Click(`tr:has(form[action$="/link/"]) summary`)
				tab.Follow(`form[action$="/link/"] .btn`)
			},
		},
		{name: "sign-in", path: "/app/sign-in/"},
		{name: "sign-in-code", path: "/app/sign-in/code/"},
		{name: "forgotten-password", path: "/app/password/"},
		{
			name: "new-password", path: s.passwordLink(tb, owner, s.AddMember(tb, "forgetful", api.RoleViewer)),
			route: "/app/password/:token/",
		},
		{name: "second-factor-begin", path: "/app/account/second-factor/", session: owner},
		{name: "second-factor", path: "/app/account/second-factor/", session: s.settingUp(tb)},
		{
			name: "secrets", path: fixture.HarbourPages + "settings/", route: "/app/orgs/:org/settings/",
			session: owner,
			then:    func(tab *browser.Tab) { tab.Follow(`form[action$="/secrets/"] .btn`) },
		},
		{name: "account", path: "/app/account/", session: owner},
		{name: "no-organization", path: "/app/", session: s.Session(tb, nobody.ID)},
		{
			name: "token-secret", path: fixture.HarbourPages + "tokens/", route: "/app/orgs/:org/tokens/",
			session: owner,
			then: func(tab *browser.Tab) {
				tab.Fill("#label", "ci-pipeline")
				tab.Follow(`form[method="post"] .main`)
			},
		},
	}
}

// settingUp returns the session of somebody who is setting up an authenticator app.
func (s *stage) settingUp(tb testing.TB) string {
	tb.Helper()
	session := s.Visitor(tb, api.RoleViewer)
	s.pending(tb, session)
	return session
}

// rowsOfOperators are the pages of operators, with incidents on them.
func (s *stage) rowsOfOperators(tb testing.TB) []pageRow {
	tb.Helper()
	s.strandedKey(tb, "stranded")
	operator := s.operator(tb)
	return []pageRow{{
		name: "operations", path: operationsPage, session: operator,
		reviewed: []browser.Review{{
			Rule: "color-contrast", Target: ".n:nth-child",
			Reason: "Numbers that a narrow page scrolls to have the color of the text around them.",
		}},
	}, {
		name: "operations-confirm", path: operationsPage, session: operator,
		then: func(tab *browser.Tab) {
			tab.Click("#target-0")
			tab.Fill("#reason", "The quota is mended")
			tab.Follow(`button[value="retry"]`)
		},
	}}
}

// rowsOfDocs are all pages of the documentation, most of which have one template.
func rowsOfDocs(tb testing.TB) []pageRow {
	tb.Helper()
	rows := []pageRow{
		{name: "docs", path: "/docs/"},
		{name: "docs-guide", path: "/docs/guides/idempotency/"},
		{name: "docs-error", path: "/docs/errors/quota_exceeded/"},
		{name: "docs-errors", path: "/docs/errors/"},
		{name: "docs-search", path: "/docs/search/?q=quota", route: "/docs/search/"},
		{name: "docs-search-empty", path: "/docs/search/", alike: true},
		{name: "api-reference", path: "/api/docs/"},
		{name: "api-operation", path: "/api/docs/start-run/"},
		{name: "api-list", path: "/api/docs/list-runs/", alike: true},
	}
	addresses := append(fixture.DocsAddresses(tb), "/docs/guides/", "/docs/adr/")
	for _, address := range append(addresses, fixture.ReferenceAddresses(tb)...) {
		if slices.ContainsFunc(rows, func(r pageRow) bool { return r.path == address }) {
			continue
		}
		name := strings.ReplaceAll(strings.Trim(address, "/"), "/", "-")
		rows = append(rows, pageRow{name: name, path: address, alike: true})
	}
	return rows
}

// notPages are routes that a browser shows nothing of: files, streams, and addresses that lead elsewhere.
func notPages() []string {
	return []string{
		"/app/users/api-key/", "/app/sign-in/provider/", "/app/sign-in/provider/callback/",
		"/app/try/:operation/", "/app/orgs/:org/launch/", "/app/orgs/:org/events/",
		"/app/orgs/:org/export-runs/", "/app/orgs/:org/export-keys/",
		"/app/orgs/:org/runs/:id/findings/:format/", "/app/orgs/:org/runs/:id/document/content/",
		"/app/orgs/:org/workflows/:id/export/", "/docs/docs.css", "/docs/docs.js", "/docs/reference.css",
		"/docs/icon.svg", "/docs/samples/*", "/docs/workflow-file.schema.json",
	}
}

func TestEveryPageIsLookedAt(t *testing.T) {
	t.Parallel()
	s := setup(t)
	var routes []string
	for _, route := range s.Router.Routes() {
		inPages := strings.HasPrefix(route.Path, "/app/") || strings.HasPrefix(route.Path, "/docs/")
		if route.Method == http.MethodGet && inPages && !slices.Contains(notPages(), route.Path) {
			routes = append(routes, route.Path)
		}
	}
	var rows, names []string
	for _, row := range s.pageRows(t) {
		if row.route == "" {
			row.route = row.path
		}
		names = append(names, row.name)
		if !strings.HasPrefix(row.route, "/api/docs/") {
			rows = append(rows, row.route)
		}
		if got := s.AnswerTo(t, fixture.Page(row.path, row.session)); got.Status >= http.StatusMultipleChoices &&
			got.Status < http.StatusBadRequest {
			t.Errorf("%s leads to %s, want a page", row.name, got.Header.Get(echo.HeaderLocation))
		}
	}
	if diff := cmp.Diff(sortedOnce(routes), sortedOnce(rows)); diff != "" {
		t.Errorf("rows of pageRows (-routes +rows):\n%s", diff)
	}
	if len(sortedOnce(names)) != len(names) {
		t.Errorf("names of pageRows = %v, want each once", names)
	}
}

func sortedOnce(texts []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(texts)))
}
