package browser

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/network"
)

// Page is a page in one state, like the list of runs of an organization that has none.
type Page struct {
	// Name names its pictures, like "runs-empty".
	Name    string
	URL     string
	Cookies []*http.Cookie
	// Then leads from the URL to the page where it has no address of its own because it is the answer to a form.
	Then func(*Tab)
	// Reviewed says of what axe-core could not decide why it is right.
	Reviewed []Review
	// Foreign is the selector of a part that others wrote. It may not disturb the page, but how it is made is not
	// judged, and neither is what the page weighs with it.
	Foreign string
	// Alike tells that a page of the same template and more of everything is checked as well. This one is looked at in
	// fewer ways.
	Alike bool
}

// Review is why something is right that axe-core could not decide.
type Review struct {
	Rule, Reason string
	// Target is a part of the selectors that the review is about; all of the rule without it.
	Target string
}

// view is a way to look at a page, and what is looked at in it besides how it is laid out and who can use it.
type view struct {
	Viewport

	name string
	also []func(*check)
	// full is set for the ways in which a page is not looked at that is like another.
	full bool
	// rethemed is set where the view before differs in colors alone, so that the page needs no load of its own.
	rethemed bool
}

// views are the ways in which every page is looked at, those of one width one after the other.
func views() []view {
	type look = func(*check)
	return []view{
		{name: "dark 1280", Viewport: Viewport{Theme: Dark}, also: []look{(*check).contrasting}, full: true},
		{
			name: "light 1280", Viewport: Viewport{ReducedMotion: true}, rethemed: true,
			also: []look{(*check).made, (*check).usable, (*check).walked, (*check).still},
		},
		{name: "light 360", Viewport: Viewport{Width: narrow}, also: []look{(*check).contrasting}, full: true},
		{
			name: "dark 360", Viewport: Viewport{Width: narrow, Theme: Dark, ReducedMotion: true}, rethemed: true,
			also: []look{(*check).usable, (*check).walked}, full: true,
		},
		{name: "light 320", Viewport: Viewport{Width: narrowest}},
		{name: "light 1280 at 200 %", Viewport: Viewport{Width: wideAtDouble, Zoom: 2}, full: true},
		{
			name: "light 320 without scripts", Viewport: Viewport{Width: narrowest, ScriptOff: true},
			also: []look{(*check).readable}, full: true,
		},
	}
}

// CheckPage holds a page to the bar that all pages have in common, and fails the test with everything that is wrong.
func CheckPage(tb testing.TB, b *Browser, page Page) {
	tb.Helper()
	for _, problem := range b.Problems(tb, page) {
		tb.Errorf("%s: %s", page.Name, problem)
	}
}

// Problems lists what keeps a page from passing CheckPage.
func (b *Browser) Problems(tb testing.TB, page Page) []string {
	tb.Helper()
	tab := b.Tab(tb, Viewport{})
	defer tab.Close()
	tab.SetCookies(page.URL, page.Cookies...)
	// What was kept from an earlier load would weigh nothing.
	call(tab, network.SetCacheDisabled, network.SetCacheDisabledParams{CacheDisabled: true})
	c := &check{Tab: tab, browser: b, page: page}
	for _, v := range views() {
		if page.Alike && v.full {
			continue
		}
		c.view = v.name
		c.View(v.Viewport)
		// The view before is left out for a page that is alike.
		if page.Alike || !v.rethemed {
			c.open(page)
		}
		c.laidOut()
		for _, look := range v.also {
			look(c)
		}
		c.quiet()
	}
	return c.problems
}

// open loads a page and nothing else that would count as its own.
func (t *Tab) open(page Page) {
	t.tb.Helper()
	t.Go(page.URL)
	if page.Then != nil {
		t.traffic.reset()
		page.Then(t)
	}
}

// check is a page that is being looked at.
type check struct {
	*Tab

	browser *Browser
	page    Page
	view    string
	// heading is the page's first, with scripts.
	heading  string
	problems []string
}

func (c *check) report(format string, args ...any) {
	c.problems = append(c.problems, fmt.Sprintf("%s: %s", c.view, fmt.Sprintf(format, args...)))
}

func (c *check) reportAll(what string, problems []string) {
	for _, problem := range problems {
		c.report("%s: %s", what, problem)
	}
}

// reloads is how often a page that moved while it was loaded is loaded again, at most.
const reloads = 10

// layout is what scripts/layout.js finds.
type layout struct {
	Width     float64  `json:"width"`
	Available float64  `json:"available"`
	Overflow  []string `json:"overflow"`
	Shift     float64  `json:"shift"`
	Moved     []string `json:"moved"`
	Moving    []string `json:"moving"`
	Heading   string   `json:"heading"`
}

// laidOut demands that nothing is wider than the window and that nothing moved while the page was loaded.
func (c *check) laidOut() {
	found := c.layout(c.page.Foreign)
	// On a busy machine a table may be painted before all of it has arrived. What the page moves itself, it moves at
	// every load.
	for range reloads {
		if found.Shift == 0 {
			break
		}
		c.open(c.page)
		found = c.layout(c.page.Foreign)
	}
	if found.Width > found.Available {
		broad := strings.Join(found.Overflow, ", ")
		c.report("the page is %g px wide, want %g: %s", found.Width, found.Available, broad)
	}
	if found.Shift > 0 {
		c.report("layout shift = %.4f, want 0: %s", found.Shift, strings.Join(found.Moved, ", "))
	}
	if found.Heading == "" {
		c.report("the page has no heading")
	}
	if c.heading == "" {
		c.heading = found.Heading
	}
}

// still demands that nothing moves for those who have asked for that.
func (c *check) still() {
	c.reportAll("moves in spite of prefers-reduced-motion", c.layout(c.page.Foreign).Moving)
}

// readable demands that the page is the same one without scripts.
func (c *check) readable() {
	if found := c.layout(c.page.Foreign); found.Heading != c.heading {
		c.report("heading = %q, want %q as with scripts", found.Heading, c.heading)
	}
}

// usable demands what axe-core does, and a review of what it cannot decide.
func (c *check) usable() {
	c.demand(c.axe())
}

// contrasting demands what axe-core does of colors. All else is the same in both themes.
func (c *check) contrasting() {
	c.demand(c.axe("color-contrast", "link-in-text-block"))
}

func (c *check) demand(findings []finding) {
	for _, f := range findings {
		switch {
		case f.Certain:
			c.report("axe %s: %s: %s: %s", f.Rule, f.Help, f.Target, f.Why)
		case !c.reviewed(f):
			c.report("axe %s cannot decide and nobody has: %s: %s", f.Rule, f.Target, f.Why)
		}
	}
}

func (c *check) reviewed(f finding) bool {
	for _, review := range c.page.Reviewed {
		if review.Rule == f.Rule && strings.Contains(f.Target, review.Target) {
			return true
		}
	}
	return false
}

// walked demands that the page can be walked through with the Tab key.
func (c *check) walked() {
	c.reportAll("keyboard", c.walk(c.page.Foreign))
}

// quiet demands that nothing failed, and that nothing came from elsewhere.
func (c *check) quiet() {
	c.reportAll("console", c.Complaints())
	for _, request := range c.Requests() {
		if !sameHost(c.page.URL, request.URL) {
			c.report("the page asks %s for %s", request.URL, request.Type)
		}
	}
}
