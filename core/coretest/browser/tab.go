package browser

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// patience is far above what anything here takes, so that only what hangs fails.
const patience = 3 * time.Minute

// Theme is what the reader prefers.
type Theme string

// The themes that a page has to offer.
const (
	Light Theme = "light"
	Dark  Theme = "dark"
)

// Viewport is how a page is looked at. Its zero value is a wide window in light colors.
type Viewport struct {
	// Width is 1280 unless it is set, in the pixels of the page: with a Zoom of 2 it is half of what the window has.
	Width, Height int64
	Zoom          float64
	Theme         Theme

	ScriptOff     bool
	ReducedMotion bool
	ForcedColors  bool
	Print         bool
}

const (
	wide, narrow, narrowest, wideAtDouble = 1280, 360, 320, 640

	height = 900
)

func (v Viewport) withDefaults() Viewport {
	if v.Width == 0 {
		v.Width = wide
	}
	if v.Height == 0 {
		v.Height = height
	}
	if v.Zoom == 0 {
		v.Zoom = 1
	}
	if v.Theme == "" {
		v.Theme = Light
	}
	return v
}

// Tab is a page in a profile of its own: no cookie of another tab is in it. A method that cannot do its work ends the
// test.
type Tab struct {
	tb testing.TB
	//nolint:containedctx // It is how chromedp names a tab.
	ctx     context.Context
	close   context.CancelFunc
	traffic *traffic
}

// Tab opens a tab until the end of the test.
func (b *Browser) Tab(tb testing.TB, view Viewport) *Tab {
	tb.Helper()
	ctx, closeTab := chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext())
	t := &Tab{tb: tb, ctx: ctx, close: closeTab, traffic: &traffic{}}
	t.begin(view)
	return t
}

func (t *Tab) begin(view Viewport) {
	t.tb.Helper()
	t.tb.Cleanup(t.Close)
	// The first command opens the tab, and its deadline would be the end of it.
	if err := chromedp.Listen(t.ctx, t.traffic.note); err != nil {
		t.tb.Fatalf("open a tab: %v", err)
	}
	// Several tabs are open at once, and each is to behave like the one in front.
	call(t, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	t.View(view)
}

// Beside opens another tab of the same profile: it has the same cookies, and shares the connections to a server.
func (t *Tab) Beside(view Viewport) *Tab {
	t.tb.Helper()
	ctx, closeTab := chromedp.NewContext(t.ctx)
	beside := &Tab{tb: t.tb, ctx: ctx, close: closeTab, traffic: &traffic{}}
	beside.begin(view)
	return beside
}

// Close closes the tab before the end of the test.
func (t *Tab) Close() {
	t.close()
}

// View looks at the page in another way. What happens only while a page loads needs another Go.
func (t *Tab) View(view Viewport) {
	t.tb.Helper()
	view = view.withDefaults()
	call(t, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: view.Width, Height: view.Height, DeviceScaleFactor: view.Zoom,
	})
	features := []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: string(view.Theme)},
		{Name: "prefers-reduced-motion", Value: choose(view.ReducedMotion, "reduce", "no-preference")},
		{Name: "forced-colors", Value: choose(view.ForcedColors, "active", "none")},
	}
	call(t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Media: choose(view.Print, "print", "screen"), Features: features,
	})
	call(t, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: view.ScriptOff})
}

// SetCookies gives the tab cookies for an address.
func (t *Tab) SetCookies(address string, cookies ...*http.Cookie) {
	t.tb.Helper()
	params := network.SetCookiesParams{Cookies: make([]*network.CookieParam, len(cookies))}
	for i, cookie := range cookies {
		params.Cookies[i] = &network.CookieParam{
			Name: cookie.Name, Value: cookie.Value, URL: address, HTTPOnly: true, SameSite: network.CookieSameSiteLax,
		}
	}
	call(t, network.SetCookies, params)
}

// Go loads a page and waits until it has settled. The requests and complaints of the page before are forgotten.
func (t *Tab) Go(address string) {
	t.tb.Helper()
	t.traffic.reset()
	do(t, chromedp.Navigate(address))
	t.Settle()
}

// Settle waits until the page has painted what it is about to paint.
func (t *Tab) Settle() {
	t.tb.Helper()
	eval[bool](t, settleScript)
}

// Eval evaluates an expression beside the page: it sees the same document, and neither does it see the page's scripts
// nor do they see it. A promise is waited for.
func Eval[T any](t *Tab, expression string) T {
	t.tb.Helper()
	return eval[T](t, expression)
}

func eval[T any](t *Tab, expression string) T {
	t.tb.Helper()
	frame := call(t, page.GetFrameTree, cdp.Empty{}).FrameTree.Frame.ID
	// The world of a name is the same one for as long as the page is.
	world := call(t, page.CreateIsolatedWorld, page.CreateIsolatedWorldParams{FrameID: frame, WorldName: "bar"})
	return do(t, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise, func(p *runtime.EvaluateParams) {
		p.ContextID = world.ExecutionContextID
	}))
}

// do runs an action of chromedp, and ends the test when it fails or takes too long.
func do[T any](t *Tab, action chromedp.Action[T]) T {
	t.tb.Helper()
	ctx, cancel := t.limited()
	defer cancel()
	value, err := chromedp.Run(ctx, action)
	if err != nil {
		t.tb.Fatalf("browser: %v", err)
	}
	return value
}

func (t *Tab) limited() (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.ctx, patience)
}

// call runs a command of the protocol as do runs an action.
func call[P, R any](t *Tab, command cdp.Command[P, R], params P) R {
	t.tb.Helper()
	return do(t, func(ctx context.Context, target *chromedp.Target) (R, error) {
		return cdp.Call(ctx, target, command, params)
	})
}

func choose(condition bool, yes, no string) string {
	if condition {
		return yes
	}
	return no
}
