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
	// Slow says that the test has the tag slow.
	Slow  bool
	Edits []edit
}

// edit replaces a text that stands exactly once in a file. White space counts as one space, so a text that was only
// wrapped or indented anew is found.
type edit struct{ File, Old, New string }

var errOutdated = errors.New("the text is not there exactly once")

// load reads the mutants of all files, in their order.
func load() ([]mutant, error) {
	var all []mutant
	err := fs.WalkDir(planted, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := planted.ReadFile(path)
		if err != nil {
			return err
		}
		decoder := yaml.NewDecoder(bytes.NewReader(text))
		decoder.KnownFields(true)
		var found []mutant
		err = decoder.Decode(&found)
		all = append(all, found...)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read mutants: %w", err)
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
		words := strings.Fields(e.Old)
		for i := range words {
			words[i] = regexp.QuoteMeta(words[i])
		}
		found := regexp.MustCompile(strings.Join(words, `\s+`)).FindAllIndex(text, -1)
		if len(found) != 1 {
			return nil, fmt.Errorf("mutant %s: %s: %w: %s", m.Name, e.File, errOutdated, e.Old)
		}
		changed[path] = bytes.Join([][]byte{text[:found[0][0]], []byte(e.New), text[found[0][1]:]}, nil)
	}
	return changed, nil
}

// pattern is what go test takes to run nothing but the mutant's test.
func (m mutant) pattern() string { return "^" + strings.ReplaceAll(m.Test, "/", "$/^") + "$" }
