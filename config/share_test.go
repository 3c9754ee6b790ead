package config_test

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// everyChange are the slow tests that each change has, and what writes pictures for people.
var everyChange = regexp.MustCompile(`Browser|^Test(OpenAPI|GeneratedClients)|^TestScreenshots$|^TestMain$`)

// TestSlowTestsHaveTheirTurn holds that each slow test is one of those of a share.
func TestSlowTestsHaveTheirTurn(t *testing.T) {
	t.Parallel()
	list, err := os.ReadFile(filepath.Join("..", ".ci", "slow"))
	if err != nil {
		t.Fatal(err)
	}
	patterns := make(map[string][]*regexp.Regexp)
	for line := range strings.Lines(string(list)) {
		if words := strings.Fields(line); words[0] != "#" {
			top, _, _ := strings.Cut(words[2], "/")
			patterns[words[1]] = append(patterns[words[1]], regexp.MustCompile(top))
		}
	}
	test := regexp.MustCompile(`(?m)^func (Test\w+)`)
	for _, file := range goFiles(t) {
		if !strings.HasSuffix(file, "_slow_test.go") {
			continue
		}
		text, err := os.ReadFile(filepath.Join("..", file))
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range test.FindAllStringSubmatch(string(text), -1) {
			has := everyChange.MatchString(found[1])
			for _, pattern := range patterns[path.Dir(file)] {
				has = has || pattern.MatchString(found[1])
			}
			if !has {
				t.Errorf(".ci/slow has no line for %s in %s", found[1], file)
			}
		}
	}
}
