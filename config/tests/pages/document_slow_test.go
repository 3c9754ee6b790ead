//go:build slow

package pages

import (
	"fmt"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest/browser"
)

// maxNodes is how many elements a page may have.
const maxNodes = 1500

func TestBrowserDocumentOf10MiB(t *testing.T) {
	t.Parallel()
	s := setup(t)
	document, last := largeFaultyTable(10<<20 - 200)
	id := s.checkedDocument(t, document)
	tab := s.tab(t, browser.Open(t), 1280, pageOfDocument(id), s.Visitor(t, api.RoleViewer))
	tab.Await("#L2 mark")
	browser.Eval[string](tab, "document.documentElement.dataset.kept = 'yes'")
	end := fmt.Sprintf("#L%d", last)
	for _, step := range []struct{ key, line string }{{"n", "#L2"}, {"n", end}, {"p", "#L2"}, {"n", end}} {
		tab.Press(step.key)
		tab.Await(step.line + ".here mark")
	}
	if browser.Eval[string](tab, "document.documentElement.dataset.kept ?? ''") != "yes" {
		t.Error("the page was loaded anew, want its document replaced")
	}
	if !strings.HasSuffix(tab.Address(), fmt.Sprintf("?line=%d#L%[1]d", last)) {
		t.Errorf("address = %s, want that of line %d", tab.Address(), last)
	}
	if n := tab.Count("*"); n > maxNodes {
		t.Errorf("the page has %d elements, want at most %d", n, maxNodes)
	}
	tab.Back()
	tab.Await("#L2.here mark")
	tab.Press("n")
	tab.Await(end + ".here mark")
	tab.Reload()
	tab.Await(end + ".here mark")
}

func TestBrowserDocumentWithoutScripts(t *testing.T) {
	t.Parallel()
	s := setup(t)
	document, last := largeFaultyTable(100_000)
	id := s.checkedDocument(t, document)
	tab := s.tab(t, browser.Open(t), 360, pageOfRun(id), s.Visitor(t, api.RoleViewer))
	tab.View(browser.Viewport{Width: 360, Height: 740, ScriptOff: true})
	tab.Go("http://" + s.Address + pageOfDocument(id))
	tab.Follow(`[data-key="n"]`)
	tab.Await("#L2.here mark")
	tab.Follow(`[data-key="n"]`)
	tab.Await(fmt.Sprintf("#L%d.here mark", last))
	tab.Follow(`[data-window][rel="prev"]`)
	tab.Await("table.grid")
}

func TestBrowserHostileDocument(t *testing.T) {
	t.Parallel()
	s := setup(t)
	id := s.checkedDocument(t, "meter_id,read_at,kwh,quality,tariff\n"+strings.Join([]string{
		"<img src=x onerror=\"document.title='broken'\">", "</code></li></ol><script>document.title='broken'</script>",
		"\x00\x1b\u202egpj.exe", strings.Repeat("a\"<b>", 1<<17),
	}, "\n"))
	for _, path := range []string{pageOfDocument(id) + "?as=text", pageOfDocument(id), pageOfRun(id)} {
		tab := s.tab(t, browser.Open(t), 360, path, s.Visitor(t, api.RoleViewer))
		tab.Await("main h1")
		if title := browser.Eval[string](tab, "document.title"); strings.Contains(title, "broken") {
			t.Errorf("%s: the document has run a script", path)
		}
		if n := tab.Count("main img, main b[onerror], #document script, main ol.doc b"); n > 0 {
			t.Errorf("%s: %d elements of the document are in the page", path, n)
		}
		if width := browser.Eval[int](tab, "document.documentElement.scrollWidth"); width > 360 {
			t.Errorf("%s: the page is %d px wide, want 360", path, width)
		}
	}
}

func TestBrowserEditor(t *testing.T) {
	t.Parallel()
	s := setup(t)
	const address = workflowsPage + "meter-readings/edit/"
	tab := s.tab(t, browser.Open(t), 1280, address, s.Visitor(t, api.RoleAuthor))
	write := func(old, changed string) {
		t.Helper()
		browser.Eval[bool](tab, fmt.Sprintf(`(() => {
			const area = document.getElementById("text");
			area.value = area.value.replace(%q, %q);
			return area.dispatchEvent(new Event("input"));
		})()`, old, changed))
	}
	lines := func() int { return browser.Eval[int](tab, `document.getElementById("text").value.split("\n").length`) }
	tab.Await("#text")
	write("steps:\n", "\n\nsteps:\n")
	tab.Await(fmt.Sprintf("[data-numbers] > :nth-child(%d)", lines()))
	write("minimum: 0", "minimun: 0")
	write("type: datetime", "type: datetim")
	tab.Follow(`[value="check"]`)
	if n := tab.Count(".problem li"); n != 2 {
		t.Fatalf("%d faults are listed, want 2", n)
	}
	tab.Click(".problem li a")
	if got := browser.Eval[string](tab, `(() => { const a = document.activeElement;
		return a.value.slice(a.selectionStart, a.selectionEnd); })()`); !strings.Contains(got, "datetim") &&
		!strings.Contains(got, "minimun") {
		t.Errorf("selected = %q, want the line of the fault", got)
	}
	write("minimun: 0", "minimum: 1")
	write("type: datetim\n", "type: datetime\n")
	tab.Fill("#sample", "meter_id,read_at,kwh,quality,tariff\nMTR-0001,2026-03-01T00:00:00Z,much,A,day\n")
	tab.Follow(`[value="check"]`)
	if got := tab.Text("#checked"); !strings.Contains(got, "Line 2, column 31") {
		t.Errorf("the sample says %q, want the finding in line 2", got)
	}
	tab.Follow(`[value="draft"]`)
	tab.Await(`[value="discard"]`)
	number := s.numberOf(t)
	tab.Follow("main form button.main")
	tab.Await(".notice")
	if got := s.numberOf(t); got != number+1 {
		t.Errorf("version = %d, want %d", got, number+1)
	}
	s.shows(t, fixture.Page(address, s.Visitor(t, api.RoleAuthor)), "minimum: 1")
}

func TestBrowserEditorWithoutScripts(t *testing.T) {
	t.Parallel()
	s := setup(t)
	const address = workflowsPage + "meter-readings/edit/"
	tab := s.tab(t, browser.Open(t), 360, fixture.HarbourPages, s.Visitor(t, api.RoleAuthor))
	tab.View(browser.Viewport{Width: 360, Height: 740, ScriptOff: true})
	tab.Go("http://" + s.Address + address)
	tab.Fill("#sample", "nothing")
	tab.Follow(`[value="check"]`)
	tab.Await("#checked")
	tab.Follow(`[value="draft"]`)
	tab.Await(`[value="discard"]`)
	tab.Follow(`[value="discard"]`)
	if n := tab.Count(`[value="discard"]`); n != 0 {
		t.Error("the draft is still there, want it discarded")
	}
}
