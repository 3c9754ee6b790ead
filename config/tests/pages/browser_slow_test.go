//go:build slow

package pages

import (
	"flag"
	"net/http"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/coretest/browser"
)

// screenshots is where pictures of all pages are written to.
var screenshots = flag.String("screenshots", "", "folder for pictures of all pages")

// inBrowser is the page of a row at the address of the stage.
func (s *stage) inBrowser(row pageRow) browser.Page {
	page := browser.Page{
		Name: row.name, URL: "http://" + s.Address + row.path,
		Reviewed: slices.Concat(reviewedEverywhere(), row.reviewed), Foreign: row.foreign, Alike: row.alike,
		Then: row.then,
	}
	if row.session != "" {
		page.Cookies = []*http.Cookie{{Name: "sv_session", Value: row.session}}
	}
	return page
}

// quarterVariable names the quarter of the pages that are looked at, 0 to 3; without it all are.
const quarterVariable = "TEST_PAGES_QUARTER"

func TestPagesInABrowser(t *testing.T) {
	t.Parallel()
	b := browser.Open(t)
	s := setup(t)
	quarter := os.Getenv(quarterVariable)
	for n, row := range s.pageRows(t) {
		if quarter != "" && quarter != strconv.Itoa(n%4) {
			continue
		}
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			browser.CheckPage(t, b, s.inBrowser(row))
		})
	}
}

// TestScreenshots writes pictures of the pages for people to look at, if a folder is given.
func TestScreenshots(t *testing.T) {
	t.Parallel()
	if *screenshots == "" {
		t.Skip("no folder is given; make screenshots does that")
	}
	b := browser.Open(t)
	s := setup(t)
	var pages []browser.Page
	for _, row := range s.pageRows(t) {
		if page := s.inBrowser(row); !page.Alike {
			pages = append(pages, page)
		}
	}
	browser.WriteSheet(t, *screenshots, pages)
	for _, page := range pages {
		t.Run(page.Name, func(t *testing.T) {
			t.Parallel()
			b.Shoot(t, *screenshots, page)
		})
	}
}
