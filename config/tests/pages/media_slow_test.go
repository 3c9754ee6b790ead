//go:build slow

package pages

import (
	"net/http"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/coretest/browser"
)

// inMedia says what is wrong with a page in print and with forced colors: each text, "" for nothing.
const inMedia = `(() => {
	const problems = [];
	const root = document.documentElement;
	if (root.scrollWidth > root.clientWidth) {
		problems.push('it is ' + root.scrollWidth + ' px wide, want ' + root.clientWidth);
	}
	const light = (color) => {
		const [r, g, b, a = 1] = color.match(/[\d.]+/g).map(Number);
		return a === 0 ? null : (0.2126 * r + 0.7152 * g + 0.0722 * b) / 255;
	};
	const ground = (node) => {
		for (; node; node = node.parentElement) {
			const found = light(getComputedStyle(node).backgroundColor);
			if (found !== null && !matchMedia('print').matches) return found;
		}
		return matchMedia('(forced-colors: active) and (prefers-color-scheme: dark)').matches ? 0 : 1;
	};
	for (const node of document.querySelectorAll('main .pill, main p, main th, main td, main h1, main h2, main text')) {
		if (node.getClientRects().length === 0 || node.matches('.unseen')) continue;
		const style = getComputedStyle(node);
		const ink = light(node.matches('text') ? style.fill : style.color);
		if (ink === null || Math.abs(ink - ground(node)) < 0.3) {
			problems.push('nobody can read ' + node.outerHTML.slice(0, 80));
		}
	}
	for (const pill of document.querySelectorAll('main .pill')) {
		if (pill.getClientRects().length === 0) continue;
		if (!/\p{L}|\d/u.test(pill.textContent)) problems.push('a pill has no word: ' + pill.outerHTML);
		if (getComputedStyle(pill).borderTopColor === 'rgba(0, 0, 0, 0)') problems.push('a pill has no edge');
	}
	return problems.join('\n');
})()`

func TestPrintAndForcedColorsInABrowser(t *testing.T) {
	t.Parallel()
	b := browser.Open(t)
	s := setup(t)
	const paper = 718
	views := map[string]browser.Viewport{
		"Printed":         {Width: paper, Print: true},
		"PrintedFromDark": {Width: paper, Print: true, Theme: browser.Dark},
		"ForcedLight":     {ForcedColors: true},
		"ForcedDark":      {ForcedColors: true, Theme: browser.Dark, Width: 360},
	}
	for _, row := range s.pageRows(t) {
		if row.session == "" || row.alike {
			continue
		}
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			page := s.inBrowser(row)
			tab := b.Tab(t, browser.Viewport{})
			for name, view := range views {
				// The choice of a theme counts for more than what the system prefers, and not on paper.
				theme := &http.Cookie{Name: "sv_theme", Value: string(browser.Dark)}
				if view.ForcedColors {
					theme.Value = string(view.Theme)
				}
				tab.SetCookies(page.URL, append(page.Cookies, theme)...)
				tab.View(view)
				tab.Go(page.URL)
				if problems := browser.Eval[string](tab, inMedia); problems != "" {
					t.Errorf("%s: %s", name, problems)
				}
			}
		})
	}
}
