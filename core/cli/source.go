package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// standardInput is the name of standard input as a document.
const standardInput = "-"

// Source is an open document with random access.
type Source struct {
	io.ReaderAt
	// Name is its path for people and reports.
	Name  string
	Size  int64
	Close func() error
}

// CheckSources refuses names that are certain to fail, before any document is opened. A command that failed in the
// middle would lose what it has found in the documents before.
func CheckSources(names []string) error {
	if first := slices.Index(names, standardInput); first >= 0 && slices.Contains(names[first+1:], standardInput) {
		return errors.New("standard input can be read only once")
	}
	for _, name := range names {
		if err := checkSource(name); err != nil {
			return err
		}
	}
	return nil
}

func checkSource(name string) error {
	if name == standardInput {
		return nil
	}
	found, err := os.Stat(name)
	if err == nil && found.IsDir() {
		return folderError(name)
	}
	return err
}

// OpenSource opens a document. One that is no regular file, such as a pipe, is read into memory, up to one byte more
// than the limit: then its size shows that it is too large.
func OpenSource(stdin io.Reader, name string, limit int64) (Source, error) {
	if name == standardInput {
		return readSource(stdin, "stdin", limit)
	}
	file, err := os.Open(name) //nolint:gosec // the caller's own file is what is to be read
	if err != nil {
		return Source{}, err
	}
	found, err := file.Stat()
	switch {
	case err != nil:
		return Source{}, errors.Join(err, file.Close())
	case found.IsDir():
		return Source{}, errors.Join(folderError(name), file.Close())
	case !found.Mode().IsRegular():
		read, err := readSource(file, shownName(name), limit)
		return read, errors.Join(err, file.Close())
	}
	return Source{ReaderAt: file, Name: shownName(name), Size: found.Size(), Close: file.Close}, nil
}

func folderError(name string) error {
	return fmt.Errorf("%s is a folder; name the documents in it", name)
}

func readSource(stream io.Reader, name string, limit int64) (Source, error) {
	content, err := io.ReadAll(io.LimitReader(stream, limit+1))
	if err != nil {
		return Source{}, fmt.Errorf("read %s: %w", name, err)
	}
	return Source{
		ReaderAt: bytes.NewReader(content), Name: name, Size: int64(len(content)), Close: func() error { return nil },
	}, nil
}

// shownName returns the path with slashes, relative to the working directory if it is inside of it.
func shownName(name string) string {
	if filepath.IsAbs(name) {
		if here, err := os.Getwd(); err == nil {
			if inside, err := filepath.Rel(here, name); err == nil && filepath.IsLocal(inside) {
				name = inside
			}
		}
	}
	return filepath.ToSlash(filepath.Clean(name))
}
