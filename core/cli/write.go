package cli

import (
	"errors"
	"os"
	"path/filepath"
)

// WriteDurably writes a file that only its owner may read, and the folders above it. It is written beside the path and
// put there by put, os.Rename or os.Link, once it is whole. It is on the disk, with its name, when WriteDurably
// returns.
func WriteDurably(path string, content []byte, put func(from, to string) error) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	// CreateTemp makes files that only their owner may read.
	file, err := os.CreateTemp(dir, filepath.Base(path)+".")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(file.Name()) }() // What stays is at the path.
	_, err = file.Write(content)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	// Where a link loses to that of another process, the name is flushed all the same.
	placed := put(file.Name(), path)
	folder, err := os.Open(dir) //nolint:gosec // the caller's own folder
	if err != nil {
		return err
	}
	if err := errors.Join(folder.Sync(), folder.Close()); err != nil {
		return err
	}
	return placed
}
