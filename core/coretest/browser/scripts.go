package browser

import (
	"context"
	_ "embed"
	"strconv"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"golang.org/x/sync/errgroup"
)

//go:embed scripts/settle.js
var settleScript string

//go:embed scripts/layout.js
var layoutScript string

//go:embed scripts/structure.js
var structureScript string

//go:embed scripts/walk.js
var walkScript string

//go:embed scripts/axe.js
var axeScript string

// finding is what axe-core says of one element.
type finding struct {
	Certain bool   `json:"certain"`
	Rule    string `json:"rule"`
	Help    string `json:"help"`
	Target  string `json:"target"`
	Why     string `json:"why"`
}

// axe runs some rules of axe-core, or all without any.
func (c *check) axe(rules ...string) []finding {
	if !eval[bool](c.Tab, "typeof axe === 'object'") {
		eval[bool](c.Tab, c.browser.axe+"\n;true")
	}
	return eval[[]finding](c.Tab, applied(axeScript, append([]string{c.page.Foreign}, rules...)...))
}

func (t *Tab) layout(foreign string) layout {
	t.tb.Helper()
	return eval[layout](t, applied(layoutScript, foreign))
}

// Walk presses the Tab key until it is back where it began, and lists what is wrong with the way: the first stop has to
// lead to the content, every stop has to be seen with a ring around it, and no element may be out of reach or keep the
// focus.
func (t *Tab) Walk() []string {
	t.tb.Helper()
	return t.walk("")
}

func (t *Tab) walk(foreign string) []string {
	t.tb.Helper()
	const more, presses = 10, 20
	left := eval[int](t, applied(walkScript, foreign)) + more
	for ; left > 0 && !eval[bool](t, `round()`); left -= presses {
		do(t, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
			// Presses overlap, as in fast typing: to await the browser after each would take most of the time.
			var group errgroup.Group
			for range presses {
				group.Go(func() error { return pressTab(ctx, target) })
			}
			return group.Wait()
		}))
	}
	return eval[[]string](t, `walked()`)
}

// applied calls the function that a script is. Its first argument is the selector of what is not looked at.
func applied(script string, args ...string) string {
	quoted := make([]string, len(args))
	for i, arg := range args {
		quoted[i] = strconv.Quote(arg)
	}
	return script + "(" + strings.Join(quoted, ", ") + ")"
}

func pressTab(ctx context.Context, target *chromedp.Target) error {
	const code = 9
	down, up := input.DispatchKeyEventTypeRawKeyDown, input.DispatchKeyEventTypeKeyUp
	for _, kind := range []input.DispatchKeyEventType{down, up} {
		press := input.DispatchKeyEventParams{Type: kind, Key: "Tab", Code: "Tab", WindowsVirtualKeyCode: code}
		if _, err := cdp.Call(ctx, target, input.DispatchKeyEvent, press); err != nil {
			return err
		}
	}
	return nil
}
