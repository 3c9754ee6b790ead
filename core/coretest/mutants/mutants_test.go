package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/coretest"
)

// TestMutantsCanBePlanted finds the texts that mutants replace, and the tests that catch them, without running them.
func TestMutantsCanBePlanted(t *testing.T) {
	t.Parallel()
	root, err := coretest.Root()
	if err != nil {
		t.Fatal(err)
	}
	mutants, err := load()
	if err != nil {
		t.Fatal(err)
	}
	names := make(map[string]bool)
	for _, m := range mutants {
		if names[m.Name] || m.Harm == "" {
			t.Errorf("mutant %q: want a name of its own and the harm that it does", m.Name)
		}
		names[m.Name] = true
		if changed, err := m.plant(root); err != nil || len(changed) == 0 {
			t.Errorf("changes %d files: %v", len(changed), err)
		}
		function, rows, _ := strings.Cut(m.Test, "/")
		wanted := []string{"func " + function + "(t *testing.T)"}
		for _, row := range strings.FieldsFunc(rows, func(r rune) bool { return r == '/' }) {
			wanted = append(wanted, `"`+row+`"`)
		}
		for _, text := range wanted {
			if !strings.Contains(testsOf(t, filepath.Join(root, m.Package)), text) {
				t.Errorf("mutant %s: no test in %s has the text %s", m.Name, m.Package, text)
			}
		}
	}
}

// testsOf is the source of all tests of a package.
func testsOf(tb testing.TB, folder string) string {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		tb.Fatal(err)
	}
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}
