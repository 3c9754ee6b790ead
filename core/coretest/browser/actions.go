package browser

import (
	"context"
	"os"
	"path/filepath"
	"strconv"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// Click clicks on the first element of a CSS selector, and stays on the page.
func (t *Tab) Click(selector string) {
	t.tb.Helper()
	do(t, chromedp.Click(chromedp.CSS(selector)))
}

// DoubleClick clicks twice, as fast as people do.
func (t *Tab) DoubleClick(selector string) {
	t.tb.Helper()
	do(t, chromedp.DoubleClick(chromedp.CSS(selector)))
}

// Follow clicks on what leads to another page, a link or the button of a form, and waits until that page has settled.
func (t *Tab) Follow(selector string) {
	t.tb.Helper()
	t.Load(func() { t.Click(selector) })
}

// Load does what leads to another page, and waits until that page has settled.
func (t *Tab) Load(act func()) {
	t.tb.Helper()
	ctx, cancel := t.limited()
	defer cancel()
	_, err := chromedp.RunResponse(ctx, chromedp.Func(func(context.Context, *chromedp.Target) error {
		act()
		return nil
	}))
	if err != nil {
		t.tb.Fatalf("browser: %v", err)
	}
	t.Settle()
}

// Back goes back to the page before, as the browser's button does.
func (t *Tab) Back() {
	t.tb.Helper()
	do(t, chromedp.NavigateBack())
	t.Settle()
}

// Reload loads the page again, and sends a form again if the page is the answer to one.
func (t *Tab) Reload() {
	t.tb.Helper()
	do(t, chromedp.Reload())
	t.Settle()
}

// Fill replaces what is in a field by typing.
func (t *Tab) Fill(selector, text string) {
	t.tb.Helper()
	t.Await(selector)
	eval[string](t, "document.querySelector("+strconv.Quote(selector)+").value = ''")
	do(t, chromedp.SendKeys(chromedp.CSS(selector), text))
}

// Upload chooses files in a field for files.
func (t *Tab) Upload(selector string, files ...string) {
	t.tb.Helper()
	do(t, chromedp.SetUploadFiles(chromedp.CSS(selector), files))
}

// Keys that Press takes besides characters.
const (
	Enter  = kb.Enter
	Escape = kb.Escape
	TabKey = kb.Tab
)

// Press presses keys one after the other, on whatever has the focus.
func (t *Tab) Press(keys string) {
	t.tb.Helper()
	do(t, chromedp.KeyEvent(keys))
}

// Text is what the first element of a selector shows. It waits for the element.
func (t *Tab) Text(selector string) string {
	t.tb.Helper()
	return do(t, chromedp.Text(chromedp.CSS(selector)))
}

// Await waits until an element is there and shown.
func (t *Tab) Await(selector string) {
	t.tb.Helper()
	do(t, chromedp.WaitVisible(chromedp.CSS(selector)))
}

// Count is how many elements match a selector.
func (t *Tab) Count(selector string) int {
	t.tb.Helper()
	return len(do(t, chromedp.Nodes(chromedp.CSSAll(selector), chromedp.AtLeast(0))))
}

// Address is that of the page.
func (t *Tab) Address() string {
	t.tb.Helper()
	return do(t, chromedp.Location())
}

// Cookies lists the cookies that the page has.
func (t *Tab) Cookies() []*network.Cookie {
	t.tb.Helper()
	return call(t, network.GetCookies, network.GetCookiesParams{}).Cookies
}

// LayoutShift is how much of the page has moved by itself since it was loaded. Compare two values to know what the
// events in between have moved.
func (t *Tab) LayoutShift() float64 {
	t.tb.Helper()
	t.Settle()
	return t.layout("").Shift
}

// Screenshot writes a picture of the whole page, down to where nobody scrolls, to a PNG file.
func (t *Tab) Screenshot(file string) {
	t.tb.Helper()
	const farDown = 6000
	size := call(t, page.GetLayoutMetrics, cdp.Empty{}).CSSContentSize
	beyond := true
	picture := call(t, page.CaptureScreenshot, page.CaptureScreenshotParams{
		CaptureBeyondViewport: &beyond,
		Clip:                  &page.Viewport{Width: size.Width, Height: min(size.Height, farDown), Scale: 1},
	})
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.tb.Fatal(err)
	}
	if err := os.WriteFile(file, picture.Data, 0o600); err != nil {
		t.tb.Fatal(err)
	}
}
