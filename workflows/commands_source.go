package workflows

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

const (
	standardInput = "-"
	// largeDocument is the size from which on a terminal shows the progress.
	largeDocument = 8 << 20
	// progressPause is the time between two pictures of the progress.
	progressPause = 100 * time.Millisecond
)

// Source is a document that can be read at any place.
type Source struct {
	io.ReaderAt
	// Name is its path as it is to be shown.
	Name  string
	Size  int64
	Close func() error
}

// RefuseSources says why one of the documents cannot be opened, as far as that can be seen without opening any: what
// was found in the documents before it would be lost.
func RefuseSources(names []string) error {
	if first := slices.Index(names, standardInput); first >= 0 && slices.Contains(names[first+1:], standardInput) {
		return errors.New("standard input can be read only once")
	}
	for _, name := range names {
		if err := refuseSource(name); err != nil {
			return err
		}
	}
	return nil
}

func refuseSource(name string) error {
	if name == standardInput {
		return nil
	}
	found, err := os.Stat(name)
	if err == nil && found.IsDir() {
		return folderFault(name)
	}
	return err
}

// OpenSource opens a document. What cannot be read at any place, such as a pipe, is taken into memory, up to what any
// step checks.
func OpenSource(stdin io.Reader, name string) (Source, error) {
	if name == standardInput {
		return readSource(stdin, "stdin")
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
		return Source{}, errors.Join(folderFault(name), file.Close())
	case !found.Mode().IsRegular():
		read, err := readSource(file, shownName(name))
		return read, errors.Join(err, file.Close())
	}
	return Source{ReaderAt: file, Name: shownName(name), Size: found.Size(), Close: file.Close}, nil
}

func folderFault(name string) error {
	return fmt.Errorf("%s is a folder; name the documents in it", name)
}

func readSource(stream io.Reader, name string) (Source, error) {
	limit := engines.DefaultLimits().MaxTableBytes
	content, err := io.ReadAll(io.LimitReader(stream, limit+1))
	if err != nil {
		return Source{}, fmt.Errorf("read %s: %w", name, err)
	}
	return Source{
		ReaderAt: bytes.NewReader(content), Name: name, Size: int64(len(content)), Close: func() error { return nil },
	}, nil
}

// shownName is the name as reports carry it: with slashes, and relative to the working directory where it is in it.
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

// progress is a document that shows on a terminal how far it has been read.
type progress struct {
	Source
	bar   *progressbar.ProgressBar
	steps int
}

func newProgress(stderr io.Writer, from Source, steps int) *progress {
	p := &progress{Source: from, steps: steps}
	if from.Size >= largeDocument && isTerminal(stderr) {
		p.bar = progressbar.NewOptions64(from.Size, progressbar.OptionSetWriter(stderr),
			progressbar.OptionShowBytes(true), progressbar.OptionThrottle(progressPause),
			progressbar.OptionClearOnFinish(), progressbar.OptionSetRenderBlankState(true))
	}
	return p
}

// begin shows that a step begins, which reads the document from its beginning.
func (p *progress) begin(step int) {
	if p.bar != nil {
		p.bar.Reset()
		p.bar.Describe(fmt.Sprintf("%s  step %d/%d", strings.ToValidUTF8(filepath.Base(p.Name), "?"), step+1, p.steps))
	}
}

// ReadAt reads and moves the bar to where the reading has come.
func (p *progress) ReadAt(b []byte, offset int64) (int, error) {
	n, err := p.Source.ReadAt(b, offset)
	if p.bar != nil {
		_ = p.bar.Set64(min(offset+int64(n), p.Size)) // A bar that cannot be drawn must not fail the check.
	}
	return n, err
}

// end takes the bar away.
func (p *progress) end() {
	if p.bar != nil {
		_ = p.bar.Finish() // As above.
	}
}
