package config_test

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// The most that a package of any module has, generated files and tests apart: a room whose owner still knows every file
// of it.
const (
	mostLines = 2500
	mostFiles = 20
)

func TestRooms(t *testing.T) {
	t.Parallel()

	lines, names := map[string]int{}, map[string]int{}
	for _, file := range goFilesBut(t, isAside) {
		text, err := os.ReadFile(filepath.Join("..", file))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(file, "_test.go") || bytes.HasPrefix(text, []byte("// Code generated ")) {
			continue
		}
		names[path.Dir(file)]++
		lines[path.Dir(file)] += bytes.Count(text, []byte("\n"))
	}
	for room, n := range lines {
		if n > mostLines || names[room] > mostFiles {
			t.Errorf("%s has %d lines in %d files, want at most %d in %d", room, n, names[room], mostLines, mostFiles)
		}
	}
}
