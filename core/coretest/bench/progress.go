package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

const barWidth = 30

// progress tells a person how far the benchmark is: one line that is drawn anew in a terminal, else one line a step.
type progress struct {
	out      io.Writer
	terminal bool
	done     int
	steps    int
	begun    time.Time
}

func newProgress(out io.Writer) *progress {
	file, ok := out.(*os.File)
	if !ok {
		return &progress{out: out}
	}
	found, err := file.Stat()
	return &progress{out: out, terminal: err == nil && found.Mode()&os.ModeCharDevice != 0}
}

// say shows what is done before and after the measurements.
func (p *progress) say(text string) {
	if p.terminal {
		fmt.Fprintf(p.out, "\r\x1b[K%s", text)
		if p.steps == 0 || p.done == p.steps {
			fmt.Fprintln(p.out)
		}
		return
	}
	fmt.Fprintln(p.out, text)
}

// plan tells how many steps will come.
func (p *progress) plan(steps int) {
	p.done, p.steps, p.begun = 0, steps, time.Now()
}

// begin shows a step that has begun.
func (p *progress) begin(text string) {
	if p.terminal {
		fmt.Fprintf(p.out, "\r\x1b[K%s %s", p.bar(), text)
	}
}

// end shows a step with its result.
func (p *progress) end(text string) {
	p.done++
	if !p.terminal {
		fmt.Fprintf(p.out, "%d of %d: %s\n", p.done, p.steps, text)
		return
	}
	p.begin(text)
}

func (p *progress) bar() string {
	filled := barWidth * p.done / p.steps
	left := "?"
	if p.done > 0 {
		took := time.Since(p.begun)
		left = (took / time.Duration(p.done) * time.Duration(p.steps-p.done)).Round(time.Second).String()
	}
	return fmt.Sprintf("[%s%s] %d/%d, %s left:", strings.Repeat("#", filled), strings.Repeat(".", barWidth-filled),
		p.done, p.steps, left)
}
