package docs_test

import (
	"slices"
	"strings"
	"testing"
)

func TestSearch(t *testing.T) {
	t.Parallel()

	s := setup(t)
	tests := map[string]struct {
		query, near, says string
	}{
		"Code":             {"quota_exceeded", "/docs/errors/quota_exceeded/", ""},
		"PartOfACode":      {"key reused", "/docs/errors/idempotency_key_reused/", ""},
		"Setting":          {"SV_RUN_LEASE", "/docs/guides/configuration/#settings", ""},
		"Heading":          {"canceling", "/docs/guides/runs/#canceling", ""},
		"BeginningOfAWord": {"cance runs", "/api/docs/cancel-run/", ""},
		"Plural":           {"retries ready", "/docs/guides/retries/", ""},
		"Language": {
			"retry python", "/docs/guides/retries/#programs-for-the-shell-and-python", "",
		},
		"NothingHasAll":    {"python zeppelin", "", "No place has all of these words"},
		"Nothing":          {"zeppelin", "", "Nothing was found for <b>zeppelin</b>"},
		"NoWords":          {"?!", "", "Nothing was found"},
		"Empty":            {"", "", "Enter a few words"},
		"MarkupInTheQuery": {"<b>quota</b>", "", "&lt;b&gt;quota&lt;/b&gt;"},
		"MarkupInQuotes":   {`"><img src=x>`, "", "&#34;&gt;&lt;img src=x&gt;"},
		"BeyondTheLimit":   {strings.Repeat("zeppelin ", 100) + "quota", "", "Nothing was found"},
		"VeryLong":         {strings.Repeat("quota ", 10_000), "", "quota"},

		// What people look for, in the words of the pages.
		"Task start a run":          {"start a run", "/api/docs/start-run/", ""},
		"Task exit codes":           {"exit codes", "/docs/guides/cli/#exit-codes", ""},
		"Task rotate a token":       {"rotate a token", "/api/docs/rotate-token/", ""},
		"Task upgrade":              {"upgrade", "/docs/guides/operators/#upgrade", ""},
		"Task rate limit":           {"rate limit", "/docs/errors/rate_limited/", ""},
		"Task invite a member":      {"invite a member", "/api/docs/invite-member/", ""},
		"Task a workflow as a file": {"a workflow as a file", "/docs/guides/workflows/#a-workflow-as-a-file", ""},
		"Task raise the quota":      {"raise the quota", "/docs/errors/quota_exceeded/", ""},
		"Task large documents":      {"large documents", "/docs/guides/validators/#large-documents", ""},
		"Task list findings":        {"list findings", "/api/docs/list-findings/", ""},
		"InSmallWords":              {"cancel a run?", "/api/docs/cancel-run/", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			page, err := s.Search(tt.query)
			if err != nil {
				t.Fatal(err)
			}
			found := foundAddresses(t, page)
			if top := found[:min(len(found), 2)]; tt.near != "" && !slices.Contains(top, tt.near) {
				t.Errorf("found first %v, want %s among them", top, tt.near)
			}
			if !strings.Contains(string(page), tt.says) {
				t.Errorf("page = %s, want %q in it", page, tt.says)
			}
			checkOutline(t, elements(t, page))
		})
	}
}

// What a finding leads to has to be there, and its excerpt has to show why it was found.
func TestSearchFindings(t *testing.T) {
	t.Parallel()

	s := setup(t)
	page, err := s.Search("purge documents")
	if err != nil {
		t.Fatal(err)
	}
	found := foundAddresses(t, page)
	if len(found) == 0 || len(found) > 20 {
		t.Fatalf("found %d places, want 1 to 20", len(found))
	}
	fromPage := make(map[string]int)
	for _, address := range found {
		path, id, _ := strings.Cut(address, "#")
		if !strings.Contains(string(s.Pages()[path]), `id="`+id+`"`) && id != "" {
			t.Errorf("found %s, which is not there", address)
		}
		fromPage[path]++
		if fromPage[path] > 3 {
			t.Errorf("found %d places on %s, want at most 3", fromPage[path], path)
		}
	}
	if !strings.Contains(string(page), "<mark>") {
		t.Error("no excerpt marks the words")
	}
}

func foundAddresses(tb testing.TB, page []byte) []string {
	tb.Helper()
	var addresses []string
	for _, element := range elements(tb, page) {
		if element.name == "a" && element.parent.name == "li" && attribute(element.parent.parent, "class") == "found" {
			addresses = append(addresses, attribute(element, "href"))
		}
	}
	return addresses
}
