package docs_test

import (
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/docs"
)

func TestReference(t *testing.T) {
	t.Parallel()

	s := setup(t)
	addresses := s.ReferenceAddresses()
	if len(addresses) < 50 {
		t.Fatalf("pages = %d, want one for each operation", len(addresses))
	}
	for _, address := range addresses {
		t.Run(address, func(t *testing.T) {
			t.Parallel()
			page, found := s.Reference(address)
			if !found {
				t.Fatal("the page is not there")
			}
			if len(page) > maxPageBytes {
				t.Errorf("page = %d bytes, want at most %d", len(page), maxPageBytes)
			}
			if !strings.Contains(string(page), `href="`+address+`" aria-current="page"`) {
				t.Error("the page does not show its place in the navigation")
			}
			checkOutline(t, elements(t, page))
		})
	}
	for _, name := range []string{"docs.css", "reference.css"} {
		if style, err := docs.SiteFile(name); err != nil || len(style) > maxStyleBytes {
			t.Errorf("%s = %d bytes, %v, want at most %d", name, len(style), err, maxStyleBytes)
		}
	}
	if _, found := s.Reference("/api/docs/nothing/"); found {
		t.Error("a page of no operation is there")
	}
}

func TestReferenceOfAnOperation(t *testing.T) {
	t.Parallel()

	content, _ := setup(t).Reference("/api/docs/start-run/")
	page := string(content)
	for name, want := range map[string]string{
		"method and path":       `<span class="method POST">POST</span> <code>/api/workflows/{id}/start/</code>`,
		"a tab of each program": `<label for="tabs-1-4">TypeScript</label>`,
		"a key made each time":  `Idempotency-Key: $(openssl rand -hex 16)`,
		"place of a parameter":  `<a href="#request-query-version"><code>version</code></a>`,
		"what is required":      `<span class="type">file</span> <span class="required">required</span>`,
		"members inside":        `<summary>13 members</summary>`,
		"page of an error":      `<a href="/docs/errors/idempotency_key_reused/">idempotency_key_reused</a>`,
		"what may be retried":   `outcome_unknown</a> <span class="type">retryable</span>`,
		"guides beside it":      `<a href="/docs/guides/idempotency/">`,
		"other operations":      `<a href="/api/docs/list-findings/">List the findings of a run</a>`,
		"search of all":         `<form role="search" action="/docs/search/">`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("page has no %s, want %s", name, want)
		}
	}
	if strings.Contains(page, "1f0c2f4e-58a1-4c6e-9a55-0d8b0a3f6f1d") {
		t.Error("the page offers every reader the same key")
	}
	if guide := string(setup(t).Pages()["/docs/guides/roles/#tokens"]); strings.Count(guide, `href="/api/docs/`) > 3 {
		t.Error("a guide lists the operations, want one link to them")
	}
}
