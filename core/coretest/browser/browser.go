package browser

import (
	"context"
	"os/exec"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
)

// Browser is a headless Chromium that reaches this machine alone.
type Browser struct {
	//nolint:containedctx // It is how chromedp names a browser.
	ctx  context.Context
	stop context.CancelFunc

	axe   string
	rules *rules
}

// shared is the one browser of the process. It runs as long as a test has it open.
var shared struct {
	sync.Mutex

	browser *Browser
	users   int
}

// shell is Chromium without the parts around its pages. It has the same engine and takes half of the processor time.
const shell = "chromium-headless-shell"

// Open returns the browser of this process, which may have been started for another test. It skips the test where
// Chromium or npm is not installed.
func Open(tb testing.TB) *Browser {
	tb.Helper()
	chromium := lookUp(tb, shell, "chromium", "chromium-browser", "google-chrome")
	lookUp(tb, "npm")
	shared.Lock()
	defer shared.Unlock()
	if shared.users == 0 {
		shared.browser = start(tb, chromium)
	}
	shared.users++
	tb.Cleanup(release)
	return shared.browser
}

func release() {
	shared.Lock()
	defer shared.Unlock()
	shared.users--
	if shared.users == 0 {
		shared.browser.rules.close()
		shared.browser.stop()
	}
}

func lookUp(tb testing.TB, names ...string) string {
	tb.Helper()
	for _, name := range names {
		if file, err := exec.LookPath(name); err == nil {
			return file
		}
	}
	tb.Skipf("%s is not installed; .ci/setup chromium npm installs it", names[0])
	return ""
}

func start(tb testing.TB, chromium string) *Browser {
	tb.Helper()
	// It may outlive the test that comes first.
	ctx := context.WithoutCancel(tb.Context())
	tools, err := installTools(ctx)
	if err != nil {
		tb.Fatalf("install the tools for pages: %v", err)
	}
	b := &Browser{axe: tools.axe}
	if b.rules, err = startRules(ctx, tools.Folder); err != nil {
		tb.Fatalf("start html-validate: %v", err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(chromium),
		// On a busy machine a start takes longer than the 20 seconds of chromedp.
		chromedp.WSURLReadTimeout(patience),
		// Whatever a page asks of another host fails, and the bar says so.
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"),
		chromedp.Flag("disable-component-update", true),
		// Back shows what the cache has, and not a page that has slept: chromedp cannot follow into one.
		chromedp.Flag("disable-features", "Translate,BackForwardCache"),
	)
	allocator, freed := chromedp.NewExecAllocator(ctx, options...)
	browser, closed := chromedp.NewContext(allocator)
	b.ctx = browser
	b.stop = func() {
		closed()
		freed()
	}
	if err := chromedp.Do(browser); err != nil {
		b.rules.close()
		b.stop()
		tb.Fatalf("start %s: %v", chromium, err)
	}
	return b
}
