package main

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v4"
)

//go:embed planted/*.yaml
var planted embed.FS

// mutant is a bug that is planted on purpose.
type mutant struct {
	Name string
	// Harm is what the bug would do to a customer.
	Harm string
	// Package and Test are what catches it. Test is a name as go test takes it, with the row behind a slash.
	Package, Test string
	// Hangs says that the test does not end with the bug.
	Hangs bool
	Edits []edit
}

// edit replaces a text that stands exactly once in a file. White space counts as one space, so a text that was only
// wrapped or indented anew is found.
type edit struct{ File, Old, New string }

// load reads the mutants of all files, in their order.
func load() ([]mutant, error) {
	names, err := fs.Glob(planted, "planted/*.yaml")
	if err != nil {
		return nil, fmt.Errorf("list mutants: %w", err)
	}
	var all []mutant
	for _, name := range names {
		text, err := planted.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read mutants: %w", err)
		}
		decoder := yaml.NewDecoder(bytes.NewReader(text))
		decoder.KnownFields(true)
		var found []mutant
		if err := decoder.Decode(&found); err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		all = append(all, found...)
	}
	return all, nil
}

// plant returns the files that the mutant changes, by their path, with the bug in them.
func (m mutant) plant(root string) (map[string][]byte, error) {
	changed := make(map[string][]byte)
	for _, e := range m.Edits {
		path := filepath.Join(root, e.File)
		text, ok := changed[path]
		if !ok {
			var err error
			if text, err = os.ReadFile(path); err != nil {
				return nil, fmt.Errorf("mutant %s: %w", m.Name, err)
			}
		}
		found := e.pattern().FindAllIndex(text, -1)
		if len(found) != 1 {
			return nil, fmt.Errorf("mutant %s: %s has this text %d times, want it once: %s", m.Name, e.File, len(found),
				e.Old)
		}
		changed[path] = bytes.Join([][]byte{text[:found[0][0]], []byte(e.New), text[found[0][1]:]}, nil)
	}
	if len(changed) == 0 {
		return nil, fmt.Errorf("mutant %s changes nothing", m.Name)
	}
	return changed, nil
}

func (e edit) pattern() *regexp.Regexp {
	words := strings.Fields(e.Old)
	for i := range words {
		words[i] = regexp.QuoteMeta(words[i])
	}
	return regexp.MustCompile(strings.Join(words, `\s+`))
}

var errNoTest = errors.New("its test does not exist")

// findTest reports whether the mutant's test is there: its function, and a text for each row below it.
func (m mutant) findTest(root string) error {
	files, err := filepath.Glob(filepath.Join(root, m.Package, "*_test.go"))
	if err != nil {
		return fmt.Errorf("list tests: %w", err)
	}
	var all []byte
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("read tests: %w", err)
		}
		all = append(all, text...)
	}
	for i, name := range strings.Split(m.Test, "/") {
		want := "func " + name + "(t *testing.T)"
		if i > 0 {
			want = `"` + name + `"`
		}
		if !bytes.Contains(all, []byte(want)) {
			return fmt.Errorf("mutant %s: %w: %s in %s", m.Name, errNoTest, name, m.Package)
		}
	}
	return nil
}

// pattern is what go test takes to run nothing but the mutant's test.
func (m mutant) pattern() string {
	return "^" + strings.ReplaceAll(m.Test, "/", "$/^") + "$"
}
