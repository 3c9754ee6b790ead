package files

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/simplevalidations/simplevalidations/core/cli"
)

const (
	// largeDocument is the size in bytes from which on a terminal shows the progress.
	largeDocument = 8 << 20
	// progressPause is the time between two redraws.
	progressPause = 100 * time.Millisecond
)

// progress is a document whose reading moves a bar on a terminal.
type progress struct {
	cli.Source
	bar   *progressbar.ProgressBar
	steps int
}

func newProgress(stderr io.Writer, from cli.Source, steps int) *progress {
	p := &progress{Source: from, steps: steps}
	if from.Size >= largeDocument && cli.IsTerminal(stderr) {
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

// ReadAt reads, and moves the bar.
func (p *progress) ReadAt(b []byte, offset int64) (int, error) {
	n, err := p.Source.ReadAt(b, offset)
	if p.bar != nil {
		_ = p.bar.Set64(min(offset+int64(n), p.Size)) // A bar that cannot be drawn must not fail the check.
	}
	return n, err
}

// end removes the bar.
func (p *progress) end() {
	if p.bar != nil {
		_ = p.bar.Finish() // As above.
	}
}
