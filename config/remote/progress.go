package remote

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/simplevalidations/simplevalidations/core/cli"
	"github.com/simplevalidations/simplevalidations/core/client"
	"github.com/simplevalidations/simplevalidations/validations/formats"
)

const (
	// sayEvery is the time between two lines about the progress if the output is not a terminal.
	sayEvery = 10 * time.Second
	// drawEvery is the time between two pictures of the progress on a terminal.
	drawEvery = 100 * time.Millisecond
)

// progress shows how far a command is: with a bar on a terminal, otherwise with a line now and then.
type progress struct {
	mu     sync.Mutex
	out    io.Writer
	bar    *progressbar.ProgressBar
	isBar  bool
	name   string
	status string
	steps  int

	stop func()
}

func newProgress(out io.Writer) *progress {
	p := &progress{out: out, isBar: cli.IsTerminal(out), stop: func() {}}
	if p.isBar {
		return p
	}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		p.repeat(done)
	}()
	p.stop = sync.OnceFunc(func() {
		close(done)
		<-ended
	})
	return p
}

func (p *progress) repeat(done <-chan struct{}) {
	ticker := time.NewTicker(sayEvery)
	defer ticker.Stop()
	for {
		select {
		case <-done:
			return
		case <-ticker.C:
			p.mu.Lock()
			if p.status != "" {
				p.line(p.name + ": " + p.status)
			}
			p.mu.Unlock()
		}
	}
}

// begin shows that a document is about to be sent.
func (p *progress) begin(name string, size int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.name, p.status, p.steps = name, "uploading", 0
	p.draw(size, "uploading")
}

// upload shows how much of the document was sent.
func (p *progress) upload(sent, total int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status = fmt.Sprintf("uploading, %d of %d bytes", sent, total)
	if p.bar != nil {
		_ = p.bar.Set64(sent) // A bar that cannot be drawn must not fail the command.
	}
}

// retry shows that an attempt failed.
func (p *progress) retry(attempt client.Attempt, wait time.Duration) {
	p.say("attempt %d failed, the next one is in %v: %v", attempt.Number, wait.Round(time.Millisecond), attempt.Err)
}

// event shows that a step has ended.
func (p *progress) event(e client.Event, steps int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e.Name {
	case client.EventRunCreated:
		p.status = "waiting to be executed"
		p.draw(int64(max(1, steps)), p.status)
	case client.EventRunStarted:
		p.status = fmt.Sprintf("step 1 of %d", steps)
		p.describe(p.status)
	case client.EventStepCompleted:
		p.steps++
		p.status = fmt.Sprintf("step %d of %d", min(p.steps+1, steps), steps)
		p.describe(p.status)
		if p.bar != nil {
			_ = p.bar.Set(p.steps) // As above.
		}
	}
}

// left shows how many deliveries are left.
func (p *progress) left(name string, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.name, p.status = name, fmt.Sprintf("%d deliveries left", n)
	if p.bar == nil || int64(n) > p.bar.GetMax64() {
		p.draw(int64(n), p.status)
	}
	p.describe(p.status)
	if p.bar != nil {
		_ = p.bar.Set64(p.bar.GetMax64() - int64(n)) // As above.
	}
}

// say writes a line for people.
func (p *progress) say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	p.line(fmt.Sprintf(format, args...))
}

// close removes the bar and shows nothing more.
func (p *progress) close() {
	p.stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
}

func (p *progress) line(text string) {
	_, _ = fmt.Fprintln(p.out, formats.Clean(text)) // Nobody is left to be told.
}

func (p *progress) draw(total int64, what string) {
	p.clear()
	if p.isBar && total > 0 {
		p.bar = progressbar.NewOptions64(total, progressbar.OptionSetWriter(p.out),
			progressbar.OptionThrottle(drawEvery), progressbar.OptionClearOnFinish(),
			progressbar.OptionSetRenderBlankState(true), progressbar.OptionSetDescription(what))
	}
}

func (p *progress) describe(what string) {
	if p.bar != nil {
		p.bar.Describe(what)
	}
}

func (p *progress) clear() {
	if p.bar != nil {
		_ = p.bar.Finish() // As above.
		p.bar = nil
	}
}
