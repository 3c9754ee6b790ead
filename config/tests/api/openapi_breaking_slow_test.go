//go:build slow

package api

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/docs"
)

// oasdiff is the path of a program that compares OpenAPI documents.
type oasdiff string

func setupOasdiff(tb testing.TB) oasdiff {
	tb.Helper()
	tools := tb.TempDir()
	install := exec.CommandContext(tb.Context(), "go", "install", "github.com/oasdiff/oasdiff@v1.33.0")
	// The flags of the tests are not those of another module.
	install.Env = append(os.Environ(), "GOBIN="+tools, "GOFLAGS=")
	if output, err := install.CombinedOutput(); err != nil {
		tb.Fatalf("install oasdiff: %v\n%s", err, output)
	}
	return oasdiff(filepath.Join(tools, "oasdiff"))
}

// breaks reports whether a client of the first document could fail with the second one, and on what.
func (o oasdiff) breaks(tb testing.TB, before, after string) (bool, string) {
	tb.Helper()
	folder := tb.TempDir()
	first, second := filepath.Join(folder, "before.yaml"), filepath.Join(folder, "after.yaml")
	writeText(tb, first, before)
	writeText(tb, second, after)
	cmd := exec.CommandContext(tb.Context(), string(o), "breaking", first, second, "--fail-on", "ERR")
	output, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState.ExitCode() != 1 {
		tb.Fatalf("compare: %v\n%s", err, output)
	}
	return err != nil, string(output)
}

// TestOpenAPIBreaksNothing compares the document with that of the last tag, and makes sure that the comparison finds
// what breaks clients and nothing else.
func TestOpenAPIBreaksNothing(t *testing.T) {
	t.Parallel()

	judge := setupOasdiff(t)
	now := string(docs.OpenAPI())
	tests := map[string]struct {
		old, replacement string
		breaks           bool
	}{
		"WordsChanged":    {"description: The format of the response.", "description: Its form.", false},
		"LimitRaised":     {"maximum: 200\n        default: 50", "maximum: 500\n        default: 50", false},
		"LimitLowered":    {"maximum: 200\n        default: 50", "maximum: 100\n        default: 50", true},
		"OperationMoved":  {"\n  /api/usage/:", "\n  /api/used/:", true},
		"ValueNotTaken":   {"sarif, junit, github, csv]", "sarif, junit, github]", true},
		"MemberOptional":  {"required: [next, previous, results]", "required: [results]", true},
		"KeyRequired":     {"name: Idempotency-Key\n", "name: Idempotency-Key\n      required: true\n", true},
		"MediaTypeGone":   {"            text/csv:\n", "            text/tab:\n", true},
		"OperationJoined": {"\n  /livez:", "\n  /alive:\n    $ref: '#/paths/~1livez'\n  /livez:", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(now, tt.old) {
				t.Fatalf("the document has no %q", tt.old)
			}
			got, output := judge.breaks(t, now, strings.ReplaceAll(now, tt.old, tt.replacement))
			if got != tt.breaks {
				t.Errorf("breaks = %t, want %t; it says\n%s", got, tt.breaks, output)
			}
		})
	}
	t.Run("SinceTheLastTag", func(t *testing.T) {
		t.Parallel()
		tag, err := exec.CommandContext(t.Context(), "git", "describe", "--tags", "--abbrev=0").Output()
		if err != nil {
			t.Skip("there is no tag, or no history to look for one")
		}
		released := strings.TrimSpace(string(tag)) + ":docs/openapi.yaml"
		before, err := exec.CommandContext(t.Context(), "git", "show", released).Output()
		if err != nil {
			t.Fatalf("read %s: %v", released, err)
		}
		if breaks, output := judge.breaks(t, string(before), now); breaks {
			t.Errorf("since %s:\n%s", released, output)
		}
	})
}
