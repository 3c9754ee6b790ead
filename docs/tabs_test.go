package docs

import (
	"strings"
	"testing"
)

func TestTabs(t *testing.T) {
	t.Parallel()

	t.Run("AreGathered", func(t *testing.T) {
		t.Parallel()
		page, err := newArticle("guides/x", []byte("# X\n\nFirst.\n\n"+
			"```sh shell\ncurl $URL\n```\n\n```go Go & more\nx()\n```\n\n"+
			"Then.\n\n```sh\nplain\n```\n\n```sh a\n1\n```\n```python b\n2\n```\n"))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{
			`<input type="radio" name="tabs-1" id="tabs-1-1" checked><label for="tabs-1-1">shell</label>`,
			`<input type="radio" name="tabs-1" id="tabs-1-2"><label for="tabs-1-2">Go &amp; more</label>`,
			`<input type="radio" name="tabs-2" id="tabs-2-2"><label for="tabs-2-2">b</label>`,
			"<div class=\"tab\" data-name=\"shell\">\n<div class=\"code\"><pre tabindex=\"0\">" +
				"<code class=\"language-sh\">curl $URL\n",
		} {
			if strings.Count(string(page.content), want) != 1 {
				t.Errorf("page = %s, want %s once", page.content, want)
			}
		}
		if n := strings.Count(string(page.content), "</div>\n</fieldset>\n"); n != 2 {
			t.Errorf("groups = %d, want 2; page %s", n, page.content)
		}
		if found := page.sections[0].text; found != "First. curl $URL x() Then. plain 1 2" {
			t.Errorf("text that is searched = %q, want that of the page alone", found)
		}
	})

	t.Run("DoNotStandAlone", func(t *testing.T) {
		t.Parallel()
		_, err := newArticle("guides/x", []byte("# X\n\n```sh shell\ncurl\n```\n\nText.\n"))
		if err == nil || !strings.Contains(err.Error(), "tab shell stands alone") {
			t.Errorf("error = %v, want the tab", err)
		}
	})
}
