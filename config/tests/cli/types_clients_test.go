package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/mediatype"
)

// TestRunCommandGoesOnWithTheStartOfAnotherClient repeats with the command what another client has sent without a type.
// What the workflow takes is not what the name says first, so a type that was chosen by it would be another request.
func TestRunCommandGoesOnWithTheStartOfAnotherClient(t *testing.T) {
	t.Parallel()
	s := fixture.Setup(t)
	s.AddTyped(t, "plain", mediatype.Text)
	d := setupDesk(t, "http://"+s.Address, s.Harbour.Tokens.Executor)
	form := fixture.Upload{
		Filename: "good.csv", ContentType: mediatype.Binary, Content: d.read(t, "good.csv"),
	}.To(t, "/api/workflows/plain/start/", "")
	run := s.Started(t, form.By(s.Harbour.Tokens.Executor).With("Idempotency-Key", "form good.csv"))
	got := d.run(t.Context(), "run", "@good.csv", "-w", "plain", "--no-wait", "--key", "form good.csv")
	got.want(t, 0)
	if id := strings.TrimSpace(got.output); id != run.ID {
		t.Errorf("run = %s, want that of the other client: %s", id, run.ID)
	}
}

// TestGuideListsTheTypes compares the tables of the guide with those that are used.
func TestGuideListsTheTypes(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "guides", "workflows.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(guide), "## Types of documents")
	anything := []string{}
	var endings []string
	for line := range strings.Lines(section) {
		cells := strings.Split(strings.ReplaceAll(strings.TrimSpace(line), "`", ""), " | ")
		if len(cells) != 2 || strings.Contains(line, "---") {
			continue
		}
		first := strings.Split(strings.TrimPrefix(cells[0], "| "), ", ")
		second := strings.Split(strings.TrimSuffix(cells[1], " |"), ", ")
		switch {
		case strings.HasPrefix(first[0], "."):
			for _, ending := range first {
				endings = append(endings, strings.ToLower(ending))
				if got := strings.Join(mediatype.OfName("a"+ending), ", "); got != strings.Join(second, ", ") {
					t.Errorf("types of %s = %s, want %s as in the guide", ending, got, second)
				}
			}
			anything = append(anything, second...)
		case strings.Contains(first[0], "/"):
			for _, name := range second {
				if got := mediatype.Canonical(name); got != first[0] {
					t.Errorf("Canonical(%q) = %q, want %q as in the guide", name, got, first[0])
				}
			}
		}
	}
	if got := strings.Join(mediatype.Endings(anything), ", "); got != strings.Join(endings, ", ") || got == "" {
		t.Errorf("endings = %s, want %s as in the guide", got, endings)
	}
}
