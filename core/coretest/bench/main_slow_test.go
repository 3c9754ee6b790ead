//go:build slow

package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	t.Parallel()

	t.Run("MeasuresAndLeavesNothing", func(t *testing.T) {
		t.Parallel()
		dir := dataDir(t)
		var page, progress strings.Builder
		args := []string{
			"-dir", dir, "-rounds", "1", "-duration", "1s", "-clients", "2", "-soak", "8s",
		}
		if got := run(t.Context(), args, &page, io.MultiWriter(&progress, t.Output())); got != 0 {
			t.Fatalf("exit code = %d, want 0", got)
		}
		for _, p := range parts() {
			if !strings.Contains(progress.String(), "next: "+p.title) {
				t.Errorf("%s was not measured:\n%s", p.title, progress.String())
			}
		}
		if !strings.Contains(page.String(), "| replays of 1,000 keys | 2 | starts alone | ") {
			t.Errorf("the page has no replays:\n%s", page.String())
		}
		expectEmpty(t, dir)
	})

	t.Run("LeavesNothingWhenInterrupted", func(t *testing.T) {
		t.Parallel()
		dir := dataDir(t)
		ctx, cancel := context.WithCancel(t.Context())
		output := &watcher{word: "clients: 1", seen: cancel}
		args := []string{"-dir", dir, "-rounds", "100", "-duration", "1s", "-clients", "2"}
		if got := run(ctx, args, t.Output(), output); got != exitFailed {
			t.Errorf("exit code = %d, want %d", got, exitFailed)
		}
		expectEmpty(t, dir)
	})

	t.Run("RefusesASecondBenchmark", func(t *testing.T) {
		t.Parallel()
		dir := dataDir(t)
		// Building comes first, which takes long on a busy machine.
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		args := []string{"-dir", dir, "-rounds", "1", "-duration", "1s", "-clients", "2", "-only", "wait"}
		var second int
		output := &watcher{word: "starting PostgreSQL", seen: func() {
			second = run(ctx, args, t.Output(), t.Output())
			cancel()
		}}
		run(ctx, args, t.Output(), output)
		if second != exitFailed {
			t.Errorf("exit code = %d, want %d", second, exitFailed)
		}
	})
}

// watcher waits for a word in what is written.
type watcher struct {
	word string
	seen func()
}

func (w *watcher) Write(text []byte) (int, error) {
	if strings.Contains(string(text), w.word) {
		w.seen()
	}
	return len(text), nil
}

// dataDir returns a folder that PostgreSQL's user can reach.
func dataDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatalf("open folder: %v", err)
	}
	return dir
}

func expectEmpty(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatalf("list folder: %v", err)
	}
	if len(entries) != 1 || entries[0].Name() != lockName {
		t.Errorf("folder holds %v, want the lock alone", entries)
	}
}
