package client

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// maxKey is the length of the longest idempotency key that the service accepts, in characters.
const maxKey = 255

// KeyFromFile returns the idempotency key in the file, and first writes a new one there if the file does not exist. A
// program that crashed and calls it again gets the same key, and with it the same run. One file stands for one piece of
// work: remove it when the id of the run is stored elsewhere. The client never removes it.
func KeyFromFile(path string) (string, error) {
	key, err := readKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	if err := writeKey(path); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("keep an idempotency key: %w", err)
	}
	// Another process may have been first, and then its key counts.
	return readKey(path)
}

func readKey(path string) (string, error) {
	text, err := os.ReadFile(path) //nolint:gosec // the caller's program chooses the file
	if err != nil {
		return "", fmt.Errorf("read the idempotency key: %w", err)
	}
	key := strings.TrimRight(string(text), "\r\n")
	if key == "" || len(key) > maxKey || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf("the file %s holds no idempotency key: if no run was started with it, remove it", path)
	}
	return key, nil
}

// writeKey puts a new key on disk under the name, whole or not at all. It fails if the name exists.
func writeKey(path string) error {
	key, err := newKey()
	if err != nil {
		return err
	}
	folder := filepath.Dir(path)
	file, err := os.CreateTemp(folder, ".key-*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	_, err = file.WriteString(key + "\n")
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	// Unlike a renaming, a link never replaces the key of another process.
	if err := os.Link(file.Name(), path); err != nil {
		return err
	}
	return syncFolder(folder)
}

// syncFolder keeps the names in a folder through a crash of the machine. Windows cannot flush folders.
func syncFolder(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	folder, err := os.Open(path) //nolint:gosec // the caller's program chooses the file
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
