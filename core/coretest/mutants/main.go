// Command mutants plants bugs one by one and runs the test that has to catch each:
//
//	go run ./core/coretest/mutants [NAME ...]
//
// The sources stay as they are: the compiler gets the changed files in their place. It prints a line for each bug, and
// exits with 1 when a test passes with its bug, or when a bug cannot be planted any more.
package main

import (
	"bytes"
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
	"strings"
	"syscall"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/simplevalidations/simplevalidations/core/coretest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

var (
	errSurvived = errors.New("some bugs were not caught")
	errNoName   = errors.New("no mutant has this name")
	// errFails means that a test fails without a bug, so that it can catch none.
	errFails = errors.New("a test fails without a bug")
)

func run(ctx context.Context, names []string, stdout, stderr io.Writer) error {
	mutants, err := chosen(names)
	if err != nil {
		return err
	}
	l, err := newLab(ctx)
	if err != nil {
		return err
	}
	l.talks = len(names) > 0
	return errors.Join(l.tryAll(ctx, mutants, stdout, stderr), l.cluster.Remove(context.WithoutCancel(ctx)))
}

// chosen returns the mutants with these names, and all without names. Those of one package follow each other.
func chosen(names []string) ([]mutant, error) {
	mutants, err := load()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if !slices.ContainsFunc(mutants, func(m mutant) bool { return m.Name == name }) {
			return nil, fmt.Errorf("%w: %s", errNoName, name)
		}
	}
	mutants = slices.DeleteFunc(mutants, func(m mutant) bool {
		return len(names) > 0 && !slices.Contains(names, m.Name)
	})
	slices.SortStableFunc(mutants, func(a, b mutant) int { return strings.Compare(a.Package, b.Package) })
	return mutants, nil
}

// lab is where mutants are tried.
type lab struct {
	root    string
	cluster *coretest.Cluster
	// env is what tests need to find the database and the programs.
	env []string
	// talks says that what the tests say is shown.
	talks bool
}

func newLab(ctx context.Context) (lab, error) {
	root, err := coretest.Root()
	if err != nil {
		return lab{}, err
	}
	checkers, err := coretest.BuildCheckers(ctx)
	if err != nil {
		return lab{}, err
	}
	cluster, err := coretest.StartCluster(ctx)
	if err != nil {
		return lab{}, err
	}
	return lab{root: root, cluster: cluster, env: append(os.Environ(),
		coretest.DatabaseVariable+"="+cluster.URL(), coretest.CheckersVariable+"="+checkers)}, nil
}

// tryAll tries the mutants and prints what became of each.
func (l lab) tryAll(ctx context.Context, mutants []mutant, stdout, stderr io.Writer) error {
	bar := progressbar.NewOptions(len(mutants), progressbar.OptionSetWriter(stderr),
		progressbar.OptionClearOnFinish(), progressbar.OptionSetRenderBlankState(true),
		progressbar.OptionSetVisibility(term.IsTerminal(int(os.Stderr.Fd())))) //nolint:gosec // It is a small number.
	began, survived := time.Now(), 0
	for i, m := range mutants {
		bar.Describe(m.Name)
		if i == 0 || m.Package != mutants[i-1].Package {
			if err := l.passes(ctx, m.Package, mutants); err != nil {
				return err
			}
		}
		changed, err := m.plant(l.root)
		if err != nil {
			return err
		}
		caught, took, said, err := l.test(ctx, m.Name, m.Package, m.pattern(), changed)
		if err != nil {
			return err
		}
		verdict := "caught"
		if !caught {
			verdict = "SURVIVED"
			survived++
		}
		_ = bar.Clear() // The bar is only for people who watch.
		if l.talks {
			fmt.Fprintf(stdout, "%s: %s\n%s", m.Name, m.Harm, said)
		}
		fmt.Fprintf(stdout, "%-8s %5.1f s  %-38s %s %s\n", verdict, took.Seconds(), m.Name, m.Package, m.Test)
		_ = bar.Add(1)
	}
	fmt.Fprintf(stdout, "%d of %d caught in %s\n", len(mutants)-survived, len(mutants),
		time.Since(began).Round(time.Second))
	if survived > 0 {
		return errSurvived
	}
	return nil
}

// passes demands that the tests of a package pass without a bug.
func (l lab) passes(ctx context.Context, pkg string, mutants []mutant) error {
	var patterns []string
	for _, m := range mutants {
		if m.Package == pkg && !slices.Contains(patterns, m.pattern()) {
			patterns = append(patterns, m.pattern())
		}
	}
	failed, _, said, err := l.test(ctx, "as-it-is", pkg, strings.Join(patterns, "|"), nil)
	if err == nil && failed {
		err = fmt.Errorf("%w: %s\n%s", errFails, pkg, said)
	}
	return err
}

// test builds the tests of a package with changed files and runs some of them. It reports whether one has failed, how
// long they took, and what they said.
func (l lab) test(
	ctx context.Context, name, pkg, pattern string, changed map[string][]byte,
) (bool, time.Duration, []byte, error) {
	dir, err := l.cluster.MakeDir(strings.ReplaceAll(name+pkg, "/", "-"))
	if err != nil {
		return false, 0, nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // It is removed with the cluster at the latest.
	overlay, err := writeOverlay(dir, changed)
	if err != nil {
		return false, 0, nil, err
	}
	// Tests that build programs build them with the bug as well.
	env := append(slices.Clone(l.env), "GOFLAGS="+os.Getenv("GOFLAGS")+" -overlay="+overlay,
		coretest.ProgramsVariable+"="+dir)
	binary := filepath.Join(dir, "test")
	build := exec.CommandContext(ctx, "go", "test", "-vet=off", "-ldflags=-s -w", "-c", "-o", binary, pkg)
	build.Dir, build.Env = l.root, env
	if said, err := build.CombinedOutput(); err != nil {
		return false, 0, nil, fmt.Errorf("build %s with %s: %w\n%s", pkg, name, err, said)
	}
	tests := exec.CommandContext(ctx, binary, "-test.run", pattern, "-test.timeout=1m", "-test.parallel=4")
	tests.Dir, tests.Env = filepath.Join(l.root, pkg), env
	began := time.Now()
	said, err := tests.CombinedOutput()
	took := time.Since(began)
	switch {
	case ctx.Err() != nil:
		return false, 0, nil, context.Cause(ctx)
	case bytes.Contains(said, []byte("no tests to run")):
		return false, 0, nil, fmt.Errorf("%w: %s in %s", errNoTest, pattern, pkg)
	default:
		return err != nil, took, said, nil
	}
}

// writeOverlay writes the files and the list from which the compiler knows them.
func writeOverlay(dir string, changed map[string][]byte) (string, error) {
	replaced := make(map[string]string)
	for path, text := range changed {
		replaced[path] = filepath.Join(dir, fmt.Sprintf("%d-%s", len(replaced), filepath.Base(path)))
		if err := os.WriteFile(replaced[path], text, 0o600); err != nil {
			return "", fmt.Errorf("write a changed file: %w", err)
		}
	}
	list, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		return "", fmt.Errorf("write the list of changed files: %w", err)
	}
	path := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(path, list, 0o600); err != nil {
		return "", fmt.Errorf("write the list of changed files: %w", err)
	}
	return path, nil
}
