package embedded

import (
	"errors"
	"path/filepath"
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
