package program

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/embedded"
)

const (
	// pathVariable names the environment variable with the path of the program under test.
	pathVariable = "TEST_PROGRAM"
	mainPackage  = "github.com/simplevalidations/simplevalidations"
	exitFailed   = 1
	// previous is the release that this one has to run beside. It becomes the last tag once there is one.
	previous = "dc5bd716"
	// lockPoll is how often a package looks whether another one has built the program.
	lockPoll = 10 * time.Millisecond
)

// Main runs the tests of a package and ends the process: `func TestMain(m *testing.M) { program.Main(m) }`. It builds
// the program for the package and, unless coretest.DatabaseVariable names a server, starts a PostgreSQL.
func Main(m *testing.M) {
	os.Exit(run(context.Background(), m, raceEnabled))
}

// MainPlain is Main with a program that never has the race detector. With it a start takes a second, which is much
// where each case of many starts several processes.
func MainPlain(m *testing.M) {
	os.Exit(run(context.Background(), m, false))
}

func run(ctx context.Context, m *testing.M, race bool) int {
	coretest.CollectSeldom()
	code := exitFailed
	err := withProgram(ctx, race, func() error {
		return withCluster(ctx, func() error {
			code = m.Run()
			return nil
		})
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "prepare the tests:", err)
		return exitFailed
	}
	return code
}

func withProgram(ctx context.Context, race bool, use func() error) error {
	if os.Getenv(pathVariable) != "" {
		return use()
	}
	if dir := os.Getenv(coretest.ProgramsVariable); dir != "" {
		return errors.Join(share(ctx, dir, race), use())
	}
	dir, err := os.MkdirTemp("", "simplevalidations-program-")
	if err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	if err := build(ctx, pathIn(dir, race), race); err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	return errors.Join(use(), os.RemoveAll(dir))
}

func pathIn(dir string, race bool) string {
	if race {
		return filepath.Join(dir, "race", "simplevalidations")
	}
	return filepath.Join(dir, "plain", "simplevalidations")
}

// share builds the program unless another package has done so, and waits while one does: a link takes long.
func share(ctx context.Context, dir string, race bool) error {
	path := pathIn(dir, race)
	lock, err := lockDir(ctx, filepath.Dir(path))
	if err != nil {
		return err
	}
	if _, err := os.Stat(path); err == nil {
		return errors.Join(name(path), lock.Unlock())
	}
	return errors.Join(build(ctx, path, race), lock.Unlock())
}

func lockDir(ctx context.Context, dir string) (*embedded.Lock, error) {
	poll := time.NewTicker(lockPoll)
	defer poll.Stop()
	for {
		lock, err := embedded.LockDir(dir, "build.lock")
		if !errors.Is(err, embedded.ErrLocked) {
			return lock, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-poll.C:
		}
	}
}

// internals has the program take from the environment what is no setting, so that tests need not wait for it.
const internals = " -X github.com/simplevalidations/simplevalidations/config.internals=environment"

// build makes the program without what only debuggers read, which halves the time of the link. The plain program is
// static, as that of operators is.
func build(ctx context.Context, path string, race bool) error {
	args := []string{"build", "-buildvcs=false", "-ldflags", "-s -w" + internals, "-o", path}
	cgo := "CGO_ENABLED=0"
	if race {
		args = append(args, "-race")
		cgo = "CGO_ENABLED=1"
	}
	cmd := exec.CommandContext(ctx, "go", append(args, mainPackage)...)
	cmd.Env = append(os.Environ(), cgo)
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the program: %w\n%s", err, output)
	}
	return name(path)
}

func name(path string) error {
	if err := os.Setenv(pathVariable, path); err != nil {
		return fmt.Errorf("name the program: %w", err)
	}
	return nil
}

func withCluster(ctx context.Context, use func() error) error {
	if os.Getenv(coretest.DatabaseVariable) != "" {
		return errors.Join(use(), coretest.DropTemplates(ctx))
	}
	cluster, err := coretest.StartCluster(ctx)
	if err != nil {
		return fmt.Errorf("start the database: %w", err)
	}
	if err := os.Setenv(coretest.DatabaseVariable, cluster.URL()); err != nil {
		return errors.Join(fmt.Errorf("name the database: %w", err), cluster.Remove(ctx))
	}
	return errors.Join(use(), cluster.Remove(ctx))
}

// Previous builds the previous release from the history of the repository.
func Previous(tb testing.TB) string {
	tb.Helper()
	root, err := coretest.Root()
	if err != nil {
		tb.Fatal(err)
	}
	dir := tb.TempDir()
	archived := filepath.Join(dir, "previous.tar")
	for _, command := range [][]string{
		{"git", "-C", root, "archive", "--output", archived, previous},
		{"tar", "--extract", "--file", archived, "--directory", dir},
		{"go", "build", "-C", dir, "-buildvcs=false", "-trimpath", "-o", filepath.Join(dir, "previous"), "."},
	} {
		if output, err := exec.CommandContext(tb.Context(), command[0], command[1:]...).CombinedOutput(); err != nil {
			tb.Fatalf("%s: %v\n%s\nThe history has to reach back to %s: git fetch --unshallow",
				strings.Join(command, " "), err, output, previous)
		}
	}
	return filepath.Join(dir, "previous")
}
