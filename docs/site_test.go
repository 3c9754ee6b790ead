package docs_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/docs"
)

// What a page may weigh, and the style sheet of all.
const (
	maxPageBytes  = 60_000
	maxStyleBytes = 20_000
	maxElements   = 1_500
)

func setup(tb testing.TB) *docs.Site {
	tb.Helper()
	s, err := docs.NewSite()
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func TestPages(t *testing.T) {
	t.Parallel()

	s := setup(t)
	for address, page := range s.Pages() {
		t.Run(address, func(t *testing.T) {
			t.Parallel()
			if len(page) > maxPageBytes {
				t.Errorf("page = %d bytes, want at most %d", len(page), maxPageBytes)
			}
			checkOutline(t, elements(t, page))
		})
	}
}

func TestContents(t *testing.T) {
	t.Parallel()

	names, err := docs.Pages()
	if err != nil {
		t.Fatal(err)
	}
	s := setup(t)
	for _, name := range names {
		page := string(s.Pages()["/docs/"+name+"/"])
		if n := strings.Count(page, `href="/docs/`+name+`/" aria-current="page"`); n != 1 {
			t.Errorf("page %s shows its place in the navigation %d times, want once", name, n)
		}
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()

	addresses, err := docs.SiteAddresses()
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(addresses)
	if rendered := slices.Sorted(maps.Keys(setup(t).Pages())); !slices.Equal(addresses, rendered) {
		t.Errorf("addresses = %v, want those of the pages, %v", addresses, rendered)
	}
}

func TestLayout(t *testing.T) {
	t.Parallel()

	page := string(setup(t).Pages()["/docs/guides/idempotency/"])
	for name, want := range map[string]string{
		"contents of the page":  `<li class="level-2"><a href="#how-to-make-a-key">How to make a key</a></li>`,
		"headings as links":     `<h2 id="how-to-make-a-key"><a href="#how-to-make-a-key">How to make a key</a></h2>`,
		"links between pages":   `href="/docs/errors/idempotency_key_reused/"`,
		"errors in one link":    `<a href="/docs/errors/">All errors</a>`,
		"previous page":         `<a rel="prev" href="/docs/guides/dashboard/">`,
		"next page":             `<a rel="next" href="/docs/guides/runs/">`,
		"tables that scroll":    `<div class="wide" role="group" aria-label="Table" tabindex="0">`,
		"columns with a scope":  `<th scope="col">Operation</th>`,
		"code by keyboard":      `<pre tabindex="0"><code class="language-`,
		"a search without code": `<form role="search" action="/docs/search/">`,
		"a diagram with a text": `<title id="retry-title">A retry with an idempotency key</title>`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("page has no %s, want %s", name, want)
		}
	}
	tutorial := string(setup(t).Pages()["/docs/guides/tutorial/"])
	if !strings.Contains(tutorial, `<span class="prompt">$ </span>curl -i`) {
		t.Error("prompts are copied with their commands")
	}
	inside := string(setup(t).Pages()["/docs/errors/not_found/"])
	if !strings.Contains(inside, `<a href="/docs/errors/quota_exceeded/">`) {
		t.Error("the page of an error does not lead to the others")
	}
}

// checkOutline demands one title, headings without gaps, and names for all that is there more than once.
func checkOutline(tb testing.TB, all []*element) {
	tb.Helper()
	if len(all) > maxElements {
		tb.Errorf("elements = %d, want at most %d", len(all), maxElements)
	}
	ids := make(map[string]bool)
	level, titles, inMain := 0, 0, false
	for _, element := range all {
		if id := attribute(element, "id"); id != "" {
			if ids[id] {
				tb.Errorf("id %q is there twice", id)
			}
			ids[id] = true
		}
		inMain = inMain || element.name == "main"
		if !inMain || len(element.name) != 2 || element.name[0] != 'h' || element.name == "hr" {
			continue
		}
		next := int(element.name[1] - '0')
		if next > level+1 {
			tb.Errorf("a heading of level %d follows one of level %d", next, level)
		}
		if level = next; level == 1 {
			titles++
		}
	}
	if titles != 1 {
		tb.Errorf("titles = %d, want 1", titles)
	}
}

// element is an element of a page.
type element struct {
	name   string
	attrs  []xml.Attr
	parent *element
}

// elements lists the elements of a page in their order.
func elements(tb testing.TB, page []byte) []*element {
	tb.Helper()
	decoder := xml.NewDecoder(bytes.NewReader(page))
	decoder.Strict, decoder.AutoClose, decoder.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	var all []*element
	var within *element
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			tb.Fatal(err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			within = &element{token.Name.Local, token.Attr, within}
			all = append(all, within)
		case xml.EndElement:
			within = within.parent
		}
	}
}

func attribute(e *element, name string) string {
	for _, a := range e.attrs {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}
