//go:build slow

package browser_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/coretest/browser"
)

const (
	goodPage = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Good · SimpleValidations</title>
<link rel="icon" href="/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/style.css">
<script src="/script.js" defer></script>
</head>
<body>
<a class="skip" href="#main">Skip to content</a>
<header><nav aria-label="Main"><ul><li><a href="/other/">Other</a></li></ul></nav></header>
<main id="main" tabindex="-1">
<h1>Good</h1>
<p>Since <time datetime="2026-11-21T10:00:00Z">10:00</time>.</p>
<div class="scroll" role="region" aria-label="Numbers" tabindex="0">
<table>
<caption>Numbers</caption>
<thead><tr><th scope="col">Name</th><th scope="col">Number</th></tr></thead>
<tbody><tr><td>One</td><td>1</td></tr></tbody>
</table>
</div>
<form method="post" action="/form/">
<label for="name">Name</label> <input id="name" name="name"> <button>Send</button>
</form>
</main>
</body>
</html>`
	goodStyle = `:root { color-scheme: light dark; --text: light-dark(#111, #eee); --page: light-dark(#fff, #111); }
body { margin: 1rem; background: var(--page); color: var(--text); font: 1rem/1.6 system-ui, sans-serif; }
a { color: inherit; display: inline-block; padding: 0.25rem; }
table { width: 40rem; }
input, button { min-height: 2rem; }
.scroll { overflow-x: auto; }
.skip { position: absolute; left: -100vw; }
.skip:focus { position: static; }
:focus-visible { outline: 3px solid var(--text); }
main:focus-visible { outline: none; }
`
	goodPolicy = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)

// site is a page with what may be wrong about it.
type site struct {
	// without and with are a part of the page and what stands in its place.
	without, with string
	style, script string
	policy        string
	cookie        string
	review        []browser.Review
	// whole is set where only a look finds the problem that pages like others do without.
	whole bool
}

func (s site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("X-Content-Type-Options", "nosniff")
	switch r.URL.Path {
	case "/style.css":
		header.Set("Content-Type", "text/css")
		fmt.Fprint(w, goodStyle+s.style)
	case "/script.js":
		header.Set("Content-Type", "text/javascript")
		fmt.Fprint(w, s.script)
	case "/icon.svg":
		header.Set("Content-Type", "image/svg+xml")
		fmt.Fprint(w, `<svg xmlns="http://www.w3.org/2000/svg"/>`)
	case "/", "/other/", "/form/":
		s.servePage(w)
	default:
		http.NotFound(w, r)
	}
}

func (s site) servePage(w http.ResponseWriter) {
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Content-Security-Policy", goodPolicy)
	if s.policy != "" {
		header.Set("Content-Security-Policy", s.policy)
	}
	if s.cookie != "" {
		header.Set("Set-Cookie", s.cookie)
	}
	fmt.Fprint(w, strings.Replace(goodPage, s.without, s.with, 1))
}

// problems lists what the bar says of the page.
func (s site) problems(tb testing.TB) []string {
	tb.Helper()
	server := httptest.NewServer(s)
	tb.Cleanup(server.Close)
	page := browser.Page{Name: "page", URL: server.URL + "/", Reviewed: s.review, Alike: !s.whole}
	return browser.Open(tb).Problems(tb, page)
}

func TestBrowserFindsNothingWrong(t *testing.T) {
	t.Parallel()
	if problems := (site{whole: true}).problems(t); len(problems) > 0 {
		t.Errorf("problems of a good page = %q, want none", problems)
	}
}

func TestBrowserFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	const text, heading, end = "<p>Since", "<h1>Good</h1>", "</main>"
	tests := map[string]struct {
		site site
		want string
	}{
		"Contrast": {site{style: "p { color: #999 }"}, "light 1280: axe color-contrast"},
		"OnlyInTheDark": {
			site{style: "@media (prefers-color-scheme: dark) { p { color: #555 } }", whole: true},
			"dark 360: axe color-contrast",
		},
		"OnlyInTheWideDark": {
			site{style: "@media (prefers-color-scheme: dark) and (width: 1280px) { p { color: #555 } }", whole: true},
			"dark 1280: axe color-contrast",
		},
		"OnlyInTheNarrowLight": {
			site{style: "@media (prefers-color-scheme: light) and (width: 360px) { p { color: #999 } }", whole: true},
			"light 360: axe color-contrast",
		},
		"Undecided": {
			site{style: "p { background: linear-gradient(#fff, #eee) }"},
			"color-contrast cannot decide",
		},
		"TooWide": {site{style: "h1 { width: 350px }"}, "light 320: the page is 366 px wide, want 320: h1"},
		"TooWideZoomed": {
			site{style: "@media (width: 640px) { h1 { width: 50rem } }", whole: true},
			"200 %: the page is",
		},
		"Shift": {
			site{script: later("document.querySelector('h1').style.height = '9rem'")},
			"layout shift = 0",
		},
		"Motion": {
			site{style: "@keyframes k { to { opacity: .9 } } h1 { animation: k 1s infinite }"},
			"reduced-motion: h1",
		},
		"NoRing":   {site{style: "a:focus { outline: none !important }"}, "has no ring"},
		"ThinRing": {site{style: ":focus-visible { outline-width: 1px }"}, "has no ring"},
		"PaleRing": {site{style: ":focus-visible { outline-color: #88888880 }"}, "has a ring with a contrast of"},
		"NoSkipLink": {
			site{without: `<a class="skip" href="#main">Skip to content</a>`},
			"want the link that skips",
		},
		"SkipsToNothing": {site{without: `id="main"`, with: `id="elsewhere"`}, "want the link that skips"},
		"StopOutOfSight": {
			site{style: "button { position: fixed; left: -50vw }"},
			"cannot be seen while it has the focus",
		},
		"CoveredStop": {
			site{style: "header { position: fixed; inset: 0; background: #fff }"},
			"cannot be seen while it has the focus",
		},
		"Trap": {site{script: on("input", "keydown", "event.preventDefault()")}, "keeps the focus"},
		"OutOfReach": {
			site{script: on("input", "focus", "document.querySelector('button').focus()")},
			"cannot be reached",
		},
		"TwoHeadings":   {site{without: text, with: "<h1>More</h1>" + text}, "h1: found 2, want 1"},
		"NoTitle":       {site{without: " · SimpleValidations"}, "does not end with the product"},
		"TimeForPeople": {site{without: ` datetime="2026-11-21T10:00:00Z"`}, "time without a datetime"},
		"NoScope":       {site{without: ` scope="col"`}, "th without a scope"},
		"Picture":       {site{without: text, with: `<svg viewBox="0 0 1 1"></svg>` + text}, "svg without a name"},
		"BadHTML":       {site{without: heading, with: heading + "<p><ul></ul></p>"}, "html: "},
		"UnknownLabel":  {site{without: `for="name"`, with: `for="names"`}, "axe label"},
		"InlineStyle": {
			site{without: "<p>", with: `<p style="margin: 0">`},
			"console: Applying inline style violates",
		},
		"InlineScript": {
			site{without: end, with: "<script>alert(1)</script>" + end},
			"console: Executing inline script violates",
		},
		"LooseSources": {
			site{policy: goodPolicy + "; script-src 'self' 'unsafe-inline'"},
			"has script-src 'unsafe-inline'",
		},
		"NoPolicy":     {site{policy: "frame-ancestors 'none'"}, `default-src ""`},
		"OpenCookie":   {site{cookie: "a=b; Path=/"}, "cookie a is readable by scripts"},
		"ConsoleError": {site{script: "console.error('broken')"}, `console: "broken"`},
		"Exception":    {site{script: "nothing()"}, "nothing is not defined"},
		"MissingFile":  {site{without: "/icon.svg", with: "/gone.svg"}, "console: Failed to load resource"},
		"Elsewhere": {
			site{policy: "default-src *", script: "fetch('http://example.com/')"},
			"the page asks http://example.com/",
		},
		"HeavyDocument": {site{without: end, with: "<!--" + strings.Repeat("x", 60_000) + "-->" + end}, "Document = 6"},
		"HeavyStyle":    {site{style: "/*" + strings.Repeat("x", 23_000) + "*/"}, "Stylesheet = 2"},
		"HeavyScript":   {site{script: "//" + strings.Repeat("x", 15_000)}, "Script = 15002 bytes, want at most 15000"},
		"Files":         {site{script: "for (const n of '1234567') new Image().src = '/icon.svg?' + n"}, "files = 1"},
		"Elements":      {site{without: end, with: strings.Repeat("<br>", 1_500) + end}, "elements = 15"},
		"ScriptsForText": {
			site{
				without: heading, with: "<h1>Wait</h1>", whole: true,
				script: "document.querySelector('h1').textContent = 'Good'",
			},
			`heading = "Wait", want "Good"`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := tt.site.problems(t)
			if !slices.ContainsFunc(found, func(p string) bool { return strings.Contains(p, tt.want) }) {
				t.Errorf("problems = %q, want one with %q", found, tt.want)
			}
		})
	}
}

func TestBrowserAcceptsWhatWasReviewed(t *testing.T) {
	t.Parallel()
	reviewed := site{
		style:  "p { background: linear-gradient(var(--page), var(--page)) }",
		review: []browser.Review{{Rule: "color-contrast", Reason: "It is one color."}}, whole: true,
	}
	if problems := reviewed.problems(t); len(problems) > 0 {
		t.Errorf("problems = %q, want none", problems)
	}
}

// later is a script that does something when the page has been painted.
func later(script string) string {
	return "requestAnimationFrame(() => requestAnimationFrame(() => { " + script + " }))"
}

// on is a script that listens to an event of an element.
func on(selector, event, script string) string {
	return fmt.Sprintf("document.querySelector(%q).addEventListener(%q, (event) => { %s })", selector, event, script)
}
