package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// slowest is how many packages the summary names.
const slowest = 10

// repaint is how long a terminal shows one state.
const repaint = 200 * time.Millisecond

// event is a line of `go test -json`, as `go doc test2json` describes it.
type event struct {
	Action  string  `json:"Action"`
	Package string  `json:"Package"`
	Test    string  `json:"Test"`
	Output  string  `json:"Output"`
	Elapsed float64 `json:"Elapsed"`
}

// report reads events and prints what they mean: a line per package as go test prints it, failures in full, how many
// packages are done, and at the end which took longest.
type report struct {
	// total is the number of packages, or 0 where it is not known.
	total int
	// now is the clock that progress is measured by.
	now func() time.Time
	// live repaints a line with the progress, as on a terminal.
	live bool

	out     io.Writer
	begun   time.Time
	running map[string]*tested
	done    []result
	painted bool
	paintAt time.Time
}

// tested is a package whose tests run.
type tested struct {
	outputs []event
	verdict map[string]string
}

type result struct {
	name    string
	seconds float64
}

func newReport(out io.Writer, total int, live bool) *report {
	return &report{total: total, live: live, now: time.Now, out: out, begun: time.Now(), running: map[string]*tested{}}
}

// read prints what the events say until they end. What is no event is printed as it is.
func (r *report) read(events io.Reader) error {
	lines := bufio.NewReader(events)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			r.add(line)
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return fmt.Errorf("read what the tests say: %w", err)
		}
	}
	r.summarize()
	return nil
}

func (r *report) add(line string) {
	var e event
	if !strings.HasPrefix(line, "{") || json.Unmarshal([]byte(line), &e) != nil {
		r.print(line)
		return
	}
	switch e.Action {
	case "build-output":
		r.print(e.Output)
	case "output":
		p := r.of(e.Package)
		p.outputs = append(p.outputs, e)
	case "pass", "fail", "skip":
		p := r.of(e.Package)
		if e.Test != "" {
			p.verdict[e.Test] = e.Action
			p.forget(e)
			return
		}
		r.finish(e, p)
	case "start":
		r.of(e.Package)
	}
	r.paint()
}

func (r *report) of(name string) *tested {
	p, known := r.running[name]
	if !known {
		p = &tested{verdict: make(map[string]string)}
		r.running[name] = p
	}
	return p
}

// forget drops what a test has said that passed, which a long package would otherwise keep in memory.
func (p *tested) forget(e event) {
	if e.Action == "fail" {
		return
	}
	p.outputs = slices.DeleteFunc(p.outputs, func(said event) bool { return said.Test == e.Test })
}

// finish prints what failed of a package, and the line that go test ends it with.
func (r *report) finish(e event, p *tested) {
	delete(r.running, e.Package)
	r.done = append(r.done, result{name: e.Package, seconds: e.Elapsed})
	for _, said := range p.outputs {
		switch {
		case isProgress(said.Output):
		case isVerdict(said):
			r.print(strings.TrimSuffix(said.Output, "\n") + "\t" + r.progress() + "\n")
		case e.Action == "fail" || said.Test == "" && said.Output != "PASS\n":
			r.print(said.Output)
		}
	}
}

// isVerdict recognizes the last line of a package, which those who read the output look for.
func isVerdict(said event) bool {
	if said.Test != "" {
		return false
	}
	for _, beginning := range []string{"ok  \t", "FAIL\t", "?   \t"} {
		if strings.HasPrefix(said.Output, beginning) {
			return true
		}
	}
	return strings.HasPrefix(said.Output, "\t") && strings.Contains(said.Output, "coverage:")
}

// isProgress recognizes the lines that tell which test runs at the moment.
func isProgress(line string) bool {
	return strings.HasPrefix(line, "=== ")
}

func (r *report) progress() string {
	elapsed := r.now().Sub(r.begun).Round(time.Second)
	if r.total == 0 {
		return fmt.Sprintf("[%d packages, %s]", len(r.done), elapsed)
	}
	return fmt.Sprintf("[%d of %d packages, %s]", len(r.done), r.total, elapsed)
}

// clearLine returns to the beginning of a terminal's line and empties it.
const clearLine = "\r\x1b[K"

func (r *report) print(text string) {
	if r.painted {
		text = clearLine + text
		r.painted = false
	}
	fmt.Fprint(r.out, text)
}

// paint shows how far the tests are, in place of what it has shown before.
func (r *report) paint() {
	now := r.now()
	if !r.live || len(r.running) == 0 || now.Before(r.paintAt) {
		return
	}
	r.paintAt = now.Add(repaint)
	const width = 100
	names := make([]string, 0, len(r.running))
	for name := range r.running {
		names = append(names, short(name))
	}
	slices.Sort(names)
	line := r.progress() + " " + strings.Join(names, ", ")
	fmt.Fprint(r.out, clearLine+line[:min(len(line), width)])
	r.painted = true
}

func (r *report) summarize() {
	slices.SortStableFunc(r.done, func(a, b result) int { return cmp.Compare(b.seconds, a.seconds) })
	r.print(fmt.Sprintf("\nThe slowest of %d packages, after %s:\n", len(r.done),
		r.now().Sub(r.begun).Round(time.Second)))
	for _, p := range r.done[:min(len(r.done), slowest)] {
		r.print(fmt.Sprintf("%8.1f s  %s\n", p.seconds, short(p.name)))
	}
}

// short is the name of a package inside its module.
func short(name string) string {
	const module = "github.com/simplevalidations/simplevalidations/"
	return strings.TrimPrefix(name, module)
}

// countPackages returns how many packages a `go test` is about, or 0 if that is not known.
func countPackages(ctx context.Context, args []string) int {
	list := []string{"list"}
	for i, arg := range args {
		if arg == "-tags" && i+1 < len(args) {
			list = append(list, "-tags="+args[i+1])
		}
		if strings.HasPrefix(arg, "./") {
			list = append(list, arg)
		}
	}
	output, err := exec.CommandContext(ctx, "go", list...).Output()
	if err != nil {
		return 0
	}
	return strings.Count(string(output), "\n")
}

// asJSON returns the arguments of a `go test` that prints events.
func asJSON(args []string) []string {
	const first, afterFolder = 2, 4
	if len(args) > first && args[first] == "-C" {
		return slices.Insert(slices.Clone(args), afterFolder, "-json") // The folder has to stay first.
	}
	return slices.Insert(slices.Clone(args), first, "-json")
}
