// Command mutants plants bugs one by one and runs the test that has to catch each:
//
//	go run ./core/coretest/withpostgres -- go run ./core/coretest/mutants [NAME ...]
//
// The sources stay as they are: the compiler gets the changed files in their place. It prints a line for each bug, and
// exits with 1 when a test passes with its bug, or when a bug cannot be planted any more. With names it tries these
// alone, and shows what their tests say.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/simplevalidations/simplevalidations/core/coretest"
)

var (
	errSurvived = errors.New("some bugs were not caught")
	errNoName   = errors.New("not all of these are names of mutants")
	errFails    = errors.New("a test fails without a bug, so it can catch none")
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, names []string, stdout io.Writer) error {
	root, err := coretest.Root()
	if err != nil {
		return err
	}
	mutants, err := load()
	if err != nil {
		return err
	}
	if len(names) > 0 {
		mutants = slices.DeleteFunc(mutants, func(m mutant) bool { return !slices.Contains(names, m.Name) })
	}
	if len(mutants) < len(names) {
		return fmt.Errorf("%w: %s", errNoName, strings.Join(names, ", "))
	}
	// Those of one package follow each other.
	slices.SortStableFunc(mutants, func(a, b mutant) int { return strings.Compare(a.Package, b.Package) })
	return lab{root: root, talks: len(names) > 0, out: stdout}.tryAll(ctx, mutants)
}

// lab is where mutants are tried.
type lab struct {
	root string
	out  io.Writer
	// talks says that what the tests say is shown.
	talks bool
}

// tryAll tries the mutants and prints what became of each.
func (l lab) tryAll(ctx context.Context, mutants []mutant) error {
	bar := progressbar.NewOptions(len(mutants), progressbar.OptionSetWriter(os.Stderr),
		progressbar.OptionClearOnFinish(), progressbar.OptionSetRenderBlankState(true),
		progressbar.OptionSetVisibility(term.IsTerminal(int(os.Stderr.Fd()))))
	began, survived := time.Now(), 0
	for i, m := range mutants {
		bar.Describe(m.Name)
		if i == 0 || m.Package != mutants[i-1].Package {
			if err := l.passes(ctx, m.Package, mutants); err != nil {
				return err
			}
		}
		tried := time.Now()
		failed, said, err := l.test(ctx, m)
		if err != nil {
			return err
		}
		verdict := "caught"
		if !failed {
			verdict = "SURVIVED"
			survived++
		}
		_ = bar.Clear() // The bar is only for people who watch.
		if l.talks {
			fmt.Fprintf(l.out, "%s: %s\n%s", m.Name, m.Harm, said)
		}
		took := time.Since(tried).Seconds()
		fmt.Fprintf(l.out, "%-8s %5.1f s  %-34s %s %s\n", verdict, took, m.Name, m.Package, m.Test)
		_ = bar.Add(1) // As before.
	}
	fmt.Fprintf(l.out, "%d of %d caught in %s\n", len(mutants)-survived, len(mutants),
		time.Since(began).Round(time.Second))
	if survived > 0 {
		return errSurvived
	}
	return nil
}

// passes demands that the tests of a package pass without a bug.
func (l lab) passes(ctx context.Context, pkg string, mutants []mutant) error {
	var tests []string
	for _, m := range mutants {
		if m.Package == pkg && !slices.Contains(tests, m.Test) {
			tests = append(tests, m.Test)
		}
	}
	failed, said, err := l.test(ctx, mutant{
		Name: "no bug", Package: pkg, Test: strings.Join(tests, "$|^"),
		Slow: slices.ContainsFunc(mutants, func(m mutant) bool { return m.Package == pkg && m.Slow }),
	})
	if err == nil && failed {
		err = fmt.Errorf("%w: %s\n%s", errFails, pkg, said)
	}
	return err
}

// test runs the mutant's test with its bug. It reports whether it has failed, and what it has said.
func (l lab) test(ctx context.Context, m mutant) (bool, []byte, error) {
	changed, err := m.plant(l.root)
	if err != nil {
		return false, nil, err
	}
	dir, err := os.MkdirTemp("", "mutant-")
	if err != nil {
		return false, nil, fmt.Errorf("make a folder for a mutant: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // It is a temporary one.
	overlay, err := writeOverlay(dir, changed)
	if err != nil {
		return false, nil, err
	}
	// Tests that build programs build them with the bug as well.
	env := append(os.Environ(), "GOFLAGS="+os.Getenv("GOFLAGS")+" -overlay="+overlay, coretest.ProgramsVariable+"="+dir)
	binary := filepath.Join(dir, "test")
	tags := ""
	if m.Slow {
		tags = "slow"
	}
	build := exec.CommandContext(ctx, "go", "test", "-vet=off", "-ldflags=-s -w", "-tags", tags, "-c", "-o", binary,
		m.Package)
	build.Dir, build.Env = l.root, env
	if said, err := build.CombinedOutput(); err != nil {
		return false, nil, fmt.Errorf("build %s with %s: %w\n%s", m.Package, m.Name, err, said)
	}
	patience := 3 * time.Minute
	if m.Hangs {
		patience = 20 * time.Second
	}
	tests := exec.CommandContext(ctx, binary, "-test.run", m.pattern(), "-test.timeout", patience.String())
	tests.Dir, tests.Env = filepath.Join(l.root, m.Package), env
	said, err := tests.CombinedOutput()
	return err != nil, said, ctx.Err()
}

// writeOverlay writes the files and the list from which the compiler knows them.
func writeOverlay(dir string, changed map[string][]byte) (string, error) {
	replaced := make(map[string]string)
	var failures []error
	for path, text := range changed {
		replaced[path] = filepath.Join(dir, strconv.Itoa(len(replaced))+"-"+filepath.Base(path))
		failures = append(failures, os.WriteFile(replaced[path], text, 0o600))
	}
	list, err := json.Marshal(map[string]any{"Replace": replaced})
	overlay := filepath.Join(dir, "overlay.json")
	if err := errors.Join(append(failures, err, os.WriteFile(overlay, list, 0o600))...); err != nil {
		return "", fmt.Errorf("write the changed files: %w", err)
	}
	return overlay, nil
}
