package browser

import (
	_ "embed"
	"html/template"
	"os"
	"path/filepath"
	"testing"
)

//go:embed sheet.html
var sheet string

// picture is a way in which a page is shown to people who review it.
type picture struct {
	Viewport

	Name string
}

func pictures() []picture {
	const paper = 794
	return []picture{
		{Name: "light-1280"},
		{Name: "dark-1280", Viewport: Viewport{Theme: Dark}},
		{Name: "light-360", Viewport: Viewport{Width: narrow}},
		{Name: "dark-360", Viewport: Viewport{Width: narrow, Theme: Dark}},
		{Name: "forced-colors", Viewport: Viewport{ForcedColors: true}},
		{Name: "print", Viewport: Viewport{Width: paper, Print: true}},
	}
}

// Shoot writes pictures of a page to a folder: in both themes and widths, with forced colors, and as it is printed.
func (b *Browser) Shoot(tb testing.TB, folder string, page Page) {
	tb.Helper()
	tab := b.Tab(tb, Viewport{})
	defer tab.Close()
	tab.SetCookies(page.URL, page.Cookies...)
	for _, p := range pictures() {
		// What is printed was on a screen before, where forms can be sent.
		screen := p.Viewport
		screen.Print = false
		tab.View(screen)
		tab.open(page)
		tab.View(p.Viewport)
		tab.Screenshot(filepath.Join(folder, page.Name+"-"+p.Name+".png"))
	}
}

// WriteSheet writes index.html, which shows what Shoot wrote for the pages.
func WriteSheet(tb testing.TB, folder string, pages []Page) {
	tb.Helper()
	if err := os.MkdirAll(folder, 0o755); err != nil {
		tb.Fatal(err)
	}
	file, err := os.Create(filepath.Join(folder, "index.html"))
	if err != nil {
		tb.Fatal(err)
	}
	defer file.Close()
	view := struct {
		Pages    []Page
		Pictures []picture
	}{pages, pictures()}
	if err := template.Must(template.New("sheet").Parse(sheet)).Execute(file, view); err != nil {
		tb.Fatalf("write the contact sheet: %v", err)
	}
}
