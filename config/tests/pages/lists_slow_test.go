//go:build slow

package pages

import (
	"strconv"
	"testing"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest/browser"
)

func TestRowsAreSelectedInABrowser(t *testing.T) {
	t.Parallel()
	s := setup(t)
	const rows = 30
	for i := range rows {
		s.Started(t, s.Start(t, "row-"+strconv.Itoa(i)))
	}
	s.Work(t)
	tab := s.tab(t, browser.Open(t), 1280, fixture.HarbourPages+"runs/", s.Visitor(t, api.RoleExecutor))
	wantPicked := func(after, want string, checked int) {
		t.Helper()
		if got := tab.Text("[data-picked]"); got != want {
			t.Errorf("after %s: %q, want %q", after, got, want)
		}
		if got := tab.Count("tbody input:checked"); got != checked {
			t.Errorf("after %s: %d rows are selected, want %d", after, got, checked)
		}
	}
	shown := `(() => {
		const bar = document.querySelector("#selected").getBoundingClientRect();
		return bar.top >= 0 && bar.bottom <= innerHeight;
	})()`
	if !browser.Eval[bool](tab, shown) {
		t.Error("what is done with selected rows is below the window, want it in view")
	}
	tab.Click("tbody input")
	wantPicked("one row", "1 selected", 1)
	if !browser.Eval[bool](tab, `document.querySelector("[data-pick]").indeterminate`) {
		t.Error("all rows seem to be selected")
	}
	tab.Click("[data-pick]")
	wantPicked("all", strconv.Itoa(rows)+" selected", rows)
	tab.Follow(`#selected [value="rerun"]`)
	if got := tab.Count("main li"); got < rows {
		t.Errorf("%d runs are asked about, want %d", got, rows)
	}
	tab.Back()
	tab.Await("[data-pick]")
	wantPicked("going back", strconv.Itoa(rows)+" selected", rows)
	tab.Click("[data-pick]")
	if got := tab.Count("tbody input:checked"); got != 0 {
		t.Errorf("%d rows are still selected, want none", got)
	}
	heads := browser.Eval[float64](tab, `(() => {
		scrollTo(0, 600);
		return document.querySelector("thead th").getBoundingClientRect().top;
	})()`)
	if heads != 0 {
		t.Errorf("the names of the columns are at %g px of a list that is scrolled, want them at 0", heads)
	}
}

// asks tells whether the browser asks before the page is left.
const asks = `(() => {
	const leaving = new Event("beforeunload", { cancelable: true });
	dispatchEvent(leaving);
	return leaving.defaultPrevented;
})()`

func TestUnsavedWorkflowIsNotLostInABrowser(t *testing.T) {
	t.Parallel()
	s := setup(t)
	editor := workflowsPage + "meter-readings/edit/"
	tab := s.tab(t, browser.Open(t), 1280, editor, s.Visitor(t, api.RoleAuthor))
	wantAsks := func(after string, want bool) {
		t.Helper()
		if got := browser.Eval[bool](tab, asks); got != want {
			t.Errorf("the browser asks before leaving after %s: %t, want %t", after, got, want)
		}
	}
	wantAsks("opening", false)
	tab.Follow(`[value="check"]`)
	wantAsks("checking the saved text", false)
	browser.Eval[bool](tab, `document.querySelector("#text").value += "# a remark\n"; true`)
	wantAsks("writing", true)
	tab.Follow(`[value="check"]`)
	wantAsks("checking the text", true)
	tab.Follow(`[value="draft"]`)
	wantAsks("saving the draft", false)
	browser.Eval[bool](tab, `document.querySelector("#sample").value = "meter_id"; true`)
	wantAsks("pasting a sample", true)
}
