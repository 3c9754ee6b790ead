package config_test

import (
	"os"
	"path/filepath"
	"regexp"
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
	hops := regexp.MustCompile("\\| `([a-z_/]+\\.go)` \\| `([A-Za-z]+)` \\|").FindAllStringSubmatch(string(guide), -1)
	if len(hops) < 20 {
		t.Fatalf("the guide has %d hops, want the whole way", len(hops))
	}
	for _, hop := range hops {
		source, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(hop[1])))
		if err != nil {
			t.Errorf("hop %s: %v", hop[1], err)
			continue
		}
		declared := regexp.MustCompile(`(?m)^func (\([^)]*\) )?` + hop[2] + `[(\[]`)
		if !declared.Match(source) {
			t.Errorf("%s declares no function %s", hop[1], hop[2])
		}
	}
	for _, test := range regexp.MustCompile("`(Test[A-Za-z]+)`").FindAllStringSubmatch(string(guide), -1) {
		if !isDeclared(t, test[1]) {
			t.Errorf("the guide names %s, which no test file declares", test[1])
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
