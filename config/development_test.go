package config_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The guide for developers leads from the route of a start to its findings. Every hop must still be there.
func TestDevelopmentGuide(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("../docs/development.md")
	if err != nil {
		t.Fatal(err)
	}
	hops := regexp.MustCompile("\\| `([a-z_/]+\\.go)` \\| ([A-Za-z`, ]+) \\|").FindAllStringSubmatch(string(guide), -1)
	if len(hops) < 20 {
		t.Fatalf("the guide has %d hops, want the whole way", len(hops))
	}
	for _, hop := range hops {
		source, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(hop[1])))
		if err != nil {
			t.Errorf("hop %s: %v", hop[1], err)
			continue
		}
		for name := range strings.SplitSeq(strings.ReplaceAll(hop[2], "`", ""), ", ") {
			declared := regexp.MustCompile(`(?m)^func (\([^)]*\) )?` + name + `[(\[]`)
			if !declared.Match(source) {
				t.Errorf("%s declares no function %s", hop[1], name)
			}
		}
	}
	for _, test := range regexp.MustCompile("`(Test[A-Za-z]+)`").FindAllStringSubmatch(string(guide), -1) {
		if !isDeclared(t, test[1]) {
			t.Errorf("the guide names %s, which no test file declares", test[1])
		}
	}
}

// The comments of packages tell in which order to read their files. Each must be there.
func TestPackageCommentsNameFiles(t *testing.T) {
	t.Parallel()
	named := regexp.MustCompile(`[a-z][a-z_/]*\.go\b`)
	for _, file := range goFiles(t) {
		if filepath.Base(file) != "doc.go" {
			continue
		}
		comment, err := os.ReadFile(filepath.Join("..", file))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range named.FindAllString(string(comment), -1) {
			_, here := os.Stat(filepath.Join("..", filepath.Dir(file), name))
			_, fromRoot := os.Stat(filepath.Join("..", name))
			if here != nil && fromRoot != nil {
				t.Errorf("%s names %s, which is not there", file, name)
			}
		}
	}
}

// The page of guarantees names a test for each. It must still be in the package, so that the page's command runs it.
func TestDefectsGuide(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("../docs/guides/guarantees.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("\\| `\\./([a-z/]+)/` \\| `(Test[A-Za-z]+)` \\|")
	rows := row.FindAllStringSubmatch(string(guide), -1)
	if len(rows) < 10 {
		t.Fatalf("the page has %d rows with a test, want all", len(rows))
	}
	for _, row := range rows {
		tests, err := filepath.Glob(filepath.Join("..", filepath.FromSlash(row[1]), "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		declared := slices.ContainsFunc(tests, func(file string) bool {
			source, err := os.ReadFile(file)
			return err == nil && strings.Contains(string(source), "\nfunc "+row[2]+"(")
		})
		if !declared {
			t.Errorf("%s declares no %s", row[1], row[2])
		}
	}
}

// isDeclared looks for a test function in the whole module.
func isDeclared(tb testing.TB, name string) bool {
	tb.Helper()
	for _, file := range goFiles(tb) {
		if !strings.HasSuffix(file, "_test.go") {
			continue
		}
		source, err := os.ReadFile(filepath.Join("..", file))
		if err != nil {
			tb.Fatal(err)
		}
		if strings.Contains(string(source), "\nfunc "+name+"(") {
			return true
		}
	}
	return false
}
