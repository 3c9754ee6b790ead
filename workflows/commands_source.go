package workflows

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
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

// source is a document that can be read at any place.
type source struct {
	io.ReaderAt
	name  string
	size  int64
	close func() error
}

// openSource opens a document. What cannot be read at any place, such as a pipe, is taken into memory, up to what any
// step checks.
func openSource(stdin io.Reader, name string) (source, error) {
	if name == standardInput {
		return readSource(stdin, "stdin")
	}
	file, err := os.Open(name) //nolint:gosec // the caller's own file is what is to be read
	if err != nil {
		return source{}, err
	}
	found, err := file.Stat()
	switch {
	case err != nil:
		return source{}, errors.Join(err, file.Close())
	case found.IsDir():
		return source{}, errors.Join(fmt.Errorf("%s is a folder; name the documents in it", name), file.Close())
	case !found.Mode().IsRegular():
		read, err := readSource(file, shownName(name))
		return read, errors.Join(err, file.Close())
	}
	return source{ReaderAt: file, name: shownName(name), size: found.Size(), close: file.Close}, nil
}

func readSource(stream io.Reader, name string) (source, error) {
	limit := engines.DefaultLimits().MaxTableBytes
	content, err := io.ReadAll(io.LimitReader(stream, limit+1))
	if err != nil {
		return source{}, fmt.Errorf("read %s: %w", name, err)
	}
	return source{
		ReaderAt: bytes.NewReader(content), name: name, size: int64(len(content)), close: func() error { return nil },
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
	source
	bar   *progressbar.ProgressBar
	steps int
}

func newProgress(stderr io.Writer, from source, steps int) *progress {
	p := &progress{source: from, steps: steps}
	if from.size >= largeDocument && isTerminal(stderr) {
		p.bar = progressbar.NewOptions64(from.size, progressbar.OptionSetWriter(stderr),
			progressbar.OptionShowBytes(true), progressbar.OptionThrottle(progressPause),
			progressbar.OptionClearOnFinish(), progressbar.OptionSetRenderBlankState(true))
	}
	return p
}

// begin shows that a step begins, which reads the document from its beginning.
func (p *progress) begin(step int) {
	if p.bar != nil {
		p.bar.Reset()
		p.bar.Describe(fmt.Sprintf("%s  step %d/%d", strings.ToValidUTF8(filepath.Base(p.name), "?"), step+1, p.steps))
	}
}

// ReadAt reads and moves the bar to where the reading has come.
func (p *progress) ReadAt(b []byte, offset int64) (int, error) {
	n, err := p.source.ReadAt(b, offset)
	if p.bar != nil {
		_ = p.bar.Set64(min(offset+int64(n), p.size)) // A bar that cannot be drawn must not fail the check.
	}
	return n, err
}

// end takes the bar away.
func (p *progress) end() {
	if p.bar != nil {
		_ = p.bar.Finish() // As above.
	}
}
