package embedded

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// ErrLocked says that another holder, in this process or another one, has the lock.
var ErrLocked = errors.New("locked by another process")

// Lock is an exclusive claim on a folder. The kernel drops it when the process ends, however it ends.
type Lock struct {
	file *os.File
}

// LockDir takes the lock of that name in dir, which it creates when missing. It does not wait: when the lock is
// held it answers ErrLocked.
func LockDir(dir, name string) (*Lock, error) {
	if err := makePassable(dir); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, name)
	// The file is never removed: a rival could have opened the old one, and its lock on a removed file would exclude no
	// other process.
	//nolint:gosec // G304: the folder is the operator's own setting.
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	if err := flock(file, syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), file.Close())
	}
	return &Lock{file: file}, nil
}

// Unlock gives the lock back. Unlocking twice does nothing.
func (l *Lock) Unlock() error {
	// Closing alone would leave the lock with a child that is between its fork and its exec.
	if err := flock(l.file, syscall.LOCK_UN); err != nil && !errors.Is(err, syscall.EBADF) {
		return errors.Join(fmt.Errorf("unlock: %w", err), l.file.Close())
	}
	if err := l.file.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("unlock: %w", err)
	}
	return nil
}

// publish replaces the text that other processes read when they find the lock held.
func (l *Lock) publish(text string) error {
	if err := l.file.Truncate(0); err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	if _, err := l.file.WriteAt([]byte(text), 0); err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	return nil
}

func flock(file *os.File, how int) error {
	for {
		err := syscall.Flock(int(file.Fd()), how)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EWOULDBLOCK):
			return ErrLocked
		default:
			return err
		}
	}
}

// readFile reads a file of a folder that the operator chose, or of /proc.
func readFile(path string) ([]byte, error) {
	return os.ReadFile(path) //nolint:gosec // G304: no part of the path comes from a request.
}

func makePassable(dir string) error {
	//nolint:gosec // G301: the server runs as a user of its own and has to pass through this folder.
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	return nil
}
