package program

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// ChildrenOf lists the processes that a process has started.
func ChildrenOf(tb testing.TB, parent int) []int {
	tb.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		tb.Fatalf("list processes: %v", err)
	}
	var children []int
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // It has ended meanwhile.
		}
		// The name is in brackets and may hold anything.
		_, rest, _ := strings.Cut(string(text), "(")
		var id, its int
		var state string
		if _, err := fmt.Sscan(string(text), &id); err != nil {
			tb.Fatalf("read %s: %v", file, err)
		}
		if _, err := fmt.Sscan(rest[strings.LastIndexByte(rest, ')')+1:], &state, &its); err != nil {
			tb.Fatalf("read %s: %v", file, err)
		}
		if its == parent && state != "Z" {
			children = append(children, id)
		}
	}
	return children
}
