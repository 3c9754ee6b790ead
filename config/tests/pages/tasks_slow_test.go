//go:build slow

package pages

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/coretest/browser"
)

// walker does tasks in a browser as people do, and counts the clicks.
type walker struct {
	*browser.Tab

	clicks int
}

func (w *walker) click(selector string) {
	w.clicks++
	w.Click(selector)
}

func (w *walker) follow(selector string) {
	w.clicks++
	w.Follow(selector)
}

// choose sets a field with choices, which takes a click.
func (w *walker) choose(selector, value string) {
	w.clicks++
	browser.Eval[bool](w.Tab, `(() => { document.querySelector("`+selector+`").value = "`+value+`"; return true })()`)
}

// section follows the link of the navigation to a part of the dashboard.
func (w *walker) section(name string) { w.follow(`nav a[href$="/` + name + `/"]`) }

// says waits for an element with a text in it.
func (w *walker) says(tb testing.TB, selector, want string) {
	tb.Helper()
	w.Await(selector)
	coretest.Eventually(tb, func() bool { return strings.Contains(w.Text(selector), want) })
}

// task is what somebody comes to the dashboard for, with the most clicks that it may take from the overview.
type task struct {
	name   string
	clicks int
	do     func(testing.TB, *walker)
}

// TestTasksInABrowser does what people do most, each task from the overview on, and counts the clicks.
func TestTasksInABrowser(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.ExecutesLocally(t)
	owner := coretest.One[uuid.UUID](t, s.DB, `SELECT id FROM users WHERE email = 'owner@harbour-energy.example'`)
	if err := s.Users.SignIn.SetPassword(t.Context(), owner, fixture.VisitorPassword); err != nil {
		t.Fatal(err)
	}
	document := upload(t, "invoice-2026-11.csv", fixture.SampleText(t, "bad/meter-readings.csv"))
	s.Started(t, s.Start(t, "invoice-2026-11-4711"))
	s.Started(t, s.Start(t, "invoice-2026-11-4711"))
	s.FlushRequests(t)
	w := &walker{Tab: browser.Open(t).Tab(t, browser.Viewport{})}
	address := "http://" + s.Address
	w.Go(address + "/app/")
	for i, task := range everyTask(document) {
		if i > 0 {
			w.Go(address + fixture.HarbourPages)
		}
		w.clicks = 0
		task.do(t, w)
		t.Logf("%s: %d clicks", task.name, w.clicks)
		if w.clicks > task.clicks {
			t.Errorf("%s: %d clicks, want %d at most", task.name, w.clicks, task.clicks)
		}
	}
	if problems := w.Complaints(); len(problems) > 0 {
		t.Errorf("the browser complains: %v", problems)
	}
}

func everyTask(document string) []task {
	return append(tasksWithRuns(document), []task{
		{"usage and quota", 1, func(tb testing.TB, w *walker) {
			tb.Helper()
			w.section("usage")
			w.says(tb, ".tiles", "of 1,000,000 runs")
		}},
		{"invite a member", 3, func(tb testing.TB, w *walker) {
			tb.Helper()
			w.section("members")
			w.Fill("#email", "ana@b.example")
			w.follow("#new ~ form .btn.main")
			w.click("main [data-copy]")
			w.says(tb, "main .copy.done", "Copied")
		}},
		{"create and copy a token", 3, func(tb testing.TB, w *walker) {
			tb.Helper()
			w.section("tokens")
			w.Fill("#label", "ci-pipeline")
			w.follow(`form[method="post"] .main`)
			w.click("main [data-copy]")
			w.says(tb, "main .copy.done", "Copied")
		}},
		{"edit a workflow and publish it", 4, func(tb testing.TB, w *walker) {
			tb.Helper()
			w.section("workflows")
			w.follow(`main a[href$="/workflows/meter-readings/"]`)
			w.follow(`main a[href$="/edit/"]`)
			browser.Eval[bool](w.Tab, `(() => { const text = document.querySelector("#text");
				text.value = text.value.replace("maximum: 5000", "maximum: 6000"); return true })()`)
			w.follow("main form .btn.main")
			w.says(tb, "main .head", "version 2")
		}},
		{"deactivate a workflow", 4, func(tb testing.TB, w *walker) {
			tb.Helper()
			w.section("workflows")
			w.follow(`main a[href$="/workflows/meter-readings/"]`)
			w.click("details.confirm summary")
			w.follow("details.confirm .btn.danger")
			w.says(tb, "main .head", "Inactive")
		}},
		{"see who did what", 1, func(tb testing.TB, w *walker) {
			tb.Helper()
			w.section("audit")
			w.says(tb, "table.audit tbody tr", "workflow.deactivate")
		}},
		{"change a setting of the organization", 2, func(tb testing.TB, w *walker) {
			tb.Helper()
			w.section("settings")
			w.Fill("#name", "Harbour Energy AG")
			w.follow("form .btn.main")
			w.says(tb, ".side .org", "Harbour Energy AG")
		}},
	}...)
}

// tasksWithRuns begin with a visitor who is signed out.
func tasksWithRuns(document string) []task {
	return []task{
		{"sign in", 1, func(tb testing.TB, w *walker) {
			tb.Helper()
			w.Fill("#email", "owner@harbour-energy.example")
			w.Fill("#password", fixture.VisitorPassword)
			w.follow("main form .btn.main")
			w.says(tb, "h1", "Overview")
		}},
		{"start a run with a file, and see where it fails", 4, func(tb testing.TB, w *walker) {
			tb.Helper()
			w.follow(`.head a[href$="/launch/"]`)
			if w.Count("#file") == 0 {
				w.follow(`main a[href$="/workflows/meter-readings/launch/"]`)
			}
			w.clicks++ // To choose the file.
			w.Upload("#file", document)
			w.follow("form.launch .btn.main")
			w.says(tb, "#run-pill .pill.fail", "Failed")
			w.says(tb, ".verdict", "First: line 5, column kwh")
		}},
		{"see the line in the document", 2, func(tb testing.TB, w *walker) {
			tb.Helper()
			w.follow(`table.runs td:nth-child(2) a`)
			w.follow(`.findings td.place a`)
			w.says(tb, "main", "is not a number")
		}},
		{"find the failed runs of a workflow", 4, func(tb testing.TB, w *walker) {
			tb.Helper()
			w.section("runs")
			w.follow(`.tabs a[href*="result=FAIL"]`)
			w.choose("#workflow", "meter-readings")
			w.follow(".filters .btn")
			w.says(tb, "table.runs tbody tr", "8 errors")
		}},
		{"find out what happened to a key", 0, func(tb testing.TB, w *walker) {
			tb.Helper()
			w.Press("/")
			w.Fill("#search", "invoice-2026-11-4711")
			w.Load(func() { w.Press(browser.Enter) })
			w.says(tb, "main", "invoice-2026-11-4711")
			w.says(tb, "ol.lanes li.replay", "It got the first answer")
		}},
	}
}
