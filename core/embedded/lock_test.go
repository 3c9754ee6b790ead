package embedded

import (
	"errors"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

func TestLockDir(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new")
	first, err := LockDir(dir, "serve.lock")
	if err != nil {
		t.Fatalf("lock: %v", err)
	}
	if _, err := LockDir(dir, "serve.lock"); !errors.Is(err, ErrLocked) {
		t.Errorf("second lock = %v, want ErrLocked", err)
	}
	other, err := LockDir(dir, "other.lock")
	if err != nil {
		t.Fatalf("lock of another name: %v", err)
	}
	for _, lock := range []*Lock{first, other, first} {
		if err := lock.Unlock(); err != nil {
			t.Errorf("unlock: %v", err)
		}
	}
	again, err := LockDir(dir, "serve.lock")
	if err != nil {
		t.Fatalf("lock after unlock: %v", err)
	}
	if err := again.Unlock(); err != nil {
		t.Errorf("unlock: %v", err)
	}
}

// A child shares the open files of its parent until its own program runs.
func TestLockDirWhileChildrenStart(t *testing.T) {
	t.Parallel()
	const rounds = 100
	var group sync.WaitGroup
	group.Go(func() {
		for range rounds {
			if err := exec.CommandContext(t.Context(), "true").Run(); err != nil {
				t.Errorf("run child: %v", err)
			}
		}
	})
	dir := t.TempDir()
	for range 20 * rounds {
		lock, err := LockDir(dir, "serve.lock")
		if err != nil {
			t.Errorf("lock after unlock: %v", err)
			break
		}
		if err := lock.Unlock(); err != nil {
			t.Errorf("unlock: %v", err)
		}
	}
	group.Wait()
}
