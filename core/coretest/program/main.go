package program

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/coretest"
)

const (
	// pathVariable names the environment variable with the path of the program under test.
	pathVariable = "TEST_PROGRAM"
	mainPackage  = "github.com/simplevalidations/simplevalidations"
	exitFailed   = 1
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
	dir, err := os.MkdirTemp("", "simplevalidations-program-")
	if err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	return errors.Join(build(ctx, filepath.Join(dir, "simplevalidations"), race, use), os.RemoveAll(dir))
}

func build(ctx context.Context, path string, race bool, use func() error) error {
	args := []string{"build", "-buildvcs=false", "-o", path}
	if race {
		args = append(args, "-race")
	}
	if output, err := exec.CommandContext(ctx, "go", append(args, mainPackage)...).CombinedOutput(); err != nil {
		return fmt.Errorf("build the program: %w\n%s", err, output)
	}
	if err := os.Setenv(pathVariable, path); err != nil {
		return fmt.Errorf("name the program: %w", err)
	}
	return use()
}

func withCluster(ctx context.Context, use func() error) error {
	if os.Getenv(coretest.DatabaseVariable) != "" {
		return use()
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
