package browser

import (
	"testing"

	"github.com/chromedp/cdproto/network"
)

// Measures are what a page costs its reader.
type Measures struct {
	// Requests are those of a first visit, and Bytes what is answered to them before any compression. The typeface is
	// counted apart: browsers keep it for all pages.
	Requests     int
	Bytes, Fonts int64
	Elements     int
	// Violations counts what axe-core is certain about, in both themes.
	Violations int
	// Shift is how much of the page moves while it is loaded.
	Shift float64
}

// Measure visits a page for the first time, in light and in dark colors.
func (b *Browser) Measure(tb testing.TB, page Page) Measures {
	tb.Helper()
	tab := b.Tab(tb, Viewport{})
	defer tab.Close()
	tab.SetCookies(page.URL, page.Cookies...)
	call(tab, network.SetCacheDisabled, network.SetCacheDisabledParams{CacheDisabled: true})
	c := &check{Tab: tab, browser: b, page: page}
	c.open(page)
	measured := Measures{Shift: c.layout("").Shift, Elements: c.Count("*")}
	for _, request := range c.Requests() {
		measured.Requests++
		if request.Type == string(network.ResourceTypeFont) {
			measured.Fonts += request.Bytes
		} else {
			measured.Bytes += request.Bytes
		}
	}
	for _, theme := range []Theme{Light, Dark} {
		c.View(Viewport{Theme: theme})
		c.open(page)
		for _, f := range c.axe() {
			if f.Certain {
				measured.Violations++
			}
		}
	}
	return measured
}
