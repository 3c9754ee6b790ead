package browser

import (
	"slices"
	"strings"

	"github.com/chromedp/cdproto/network"
)

// What a page may weigh, uncompressed.
const (
	maxDocument    = 60_000
	maxStylesheets = 22_000
	maxScripts     = 15_000
	maxElements    = 1_500
	// maxLoads are the files of a first visit: the page, its style and script, and the icons.
	maxLoads = 6
)

// iconScript asks for the page's icon, which no headless browser shows. Where it is missing, the console says so.
const iconScript = `
	Promise.allSettled([...document.querySelectorAll("link[rel=icon]")].map((e) => fetch(e.href))).then(() => true)`

// made looks at how the page is made: its HTML, its headers and its weight.
func (c *check) made() {
	document := c.document()
	if document == nil {
		c.report("the page was not answered with a document")
		return
	}
	eval[bool](c.Tab, iconScript)
	c.reportAll("structure", eval[[]string](c.Tab, applied(structureScript, c.page.Foreign)))
	c.checkPolicy(document.header["content-security-policy"])
	if got := document.header["x-content-type-options"]; got != "nosniff" {
		c.report("X-Content-Type-Options = %q, want nosniff", got)
	}
	for _, cookie := range c.Cookies() {
		if !cookie.HTTPOnly || cookie.SameSite == "" {
			c.report("cookie %s is readable by scripts or sent from other sites", cookie.Name)
		}
	}
	if c.page.Foreign == "" {
		c.checkWeight()
	}
	source := call(c.Tab, network.GetResponseBody, network.GetResponseBodyParams{RequestID: document.id})
	mistakes, err := c.browser.rules.mistakes(string(source.Body))
	if err != nil {
		c.tb.Fatal(err)
	}
	c.reportAll("html", mistakes)
}

// document is the request for the page itself, behind any redirect.
func (c *check) document() *Request {
	requests := c.Requests()
	for i := range slices.Backward(requests) {
		if requests[i].Type == string(network.ResourceTypeDocument) {
			return &requests[i]
		}
	}
	return nil
}

// checkPolicy demands that the page may load nothing but what its server has, and that nothing inside it is executed.
func (c *check) checkPolicy(policy string) {
	directives := make(map[string]string)
	for directive := range strings.SplitSeq(policy, ";") {
		name, sources, _ := strings.Cut(strings.TrimSpace(directive), " ")
		directives[name] = sources
	}
	if got := directives["default-src"]; got != "'self'" && got != "'none'" {
		c.report("Content-Security-Policy has default-src %q, want 'self' or 'none'", got)
	}
	for _, name := range []string{"base-uri", "form-action", "frame-ancestors"} {
		if _, ok := directives[name]; !ok {
			c.report("Content-Security-Policy has no %s, which default-src does not stand for", name)
		}
	}
	for name, sources := range directives {
		for source := range strings.FieldsSeq(sources) {
			if source != "'self'" && source != "'none'" && (name != "img-src" || source != "data:") {
				c.report("Content-Security-Policy has %s %s, want only 'self'", name, source)
			}
		}
	}
}

func (c *check) checkWeight() {
	weights, loaded := make(map[string]int64), 0
	for _, request := range c.Requests() {
		weights[request.Type] += request.Bytes
		// Browsers keep the typeface for all pages, and what follows the page is a stream of events, and iconScript.
		switch network.ResourceType(request.Type) {
		case network.ResourceTypeEventSource, network.ResourceTypeFetch, network.ResourceTypeFont:
		default:
			loaded++
		}
	}
	for _, limit := range []struct {
		kind network.ResourceType
		most int64
	}{
		{network.ResourceTypeDocument, maxDocument},
		{network.ResourceTypeStylesheet, maxStylesheets},
		{network.ResourceTypeScript, maxScripts},
	} {
		if got := weights[string(limit.kind)]; got > limit.most {
			c.report("%s = %d bytes, want at most %d", limit.kind, got, limit.most)
		}
	}
	most := maxLoads
	if len(c.page.Cookies) > 0 {
		most++ // A page behind a session may have a script of its own.
	}
	if loaded > most {
		c.report("files = %d, want at most %d", loaded, most)
	}
	if got := eval[int](c.Tab, `document.querySelectorAll("*").length`); got > maxElements {
		c.report("elements = %d, want at most %d", got, maxElements)
	}
}
