package coretest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"testing"
)

// DatabaseVariable names the environment variable with the address of the server that tests make their databases on.
// Its role has to be allowed to create databases.
const DatabaseVariable = "TEST_DATABASE_URL"

// ProgramsVariable names the environment variable with a folder where the packages of one run share the programs that
// they build.
const ProgramsVariable = "TEST_PROGRAMS_DIR"

// Main runs the tests of a package and ends the process: `func TestMain(m *testing.M) { coretest.Main(m) }`. Unless
// DatabaseVariable names a server, it starts one for the package and removes it at the end.
func Main(m *testing.M) {
	os.Exit(run(context.Background(), m))
}

func run(ctx context.Context, m *testing.M) int {
	CollectSeldom()
	if os.Getenv(DatabaseVariable) != "" {
		code := m.Run()
		if err := DropTemplates(ctx); err != nil {
			return complain(err)
		}
		return code
	}
	cluster, err := StartCluster(ctx)
	if err != nil {
		return complain(err)
	}
	// The variable is the one place that tests look at, and it also reaches the programs that they start.
	if err := os.Setenv(DatabaseVariable, cluster.URL()); err != nil {
		return complain(err)
	}
	checkers, err := BuildCheckers(ctx)
	if err == nil {
		err = os.Setenv(CheckersVariable, checkers)
	}
	if err != nil {
		return complain(errors.Join(err, cluster.Remove(ctx)))
	}
	code := m.Run()
	if err := cluster.Remove(ctx); err != nil {
		return complain(err)
	}
	return code
}

// CollectSeldom makes the garbage collector, which takes a third of the processor time of tests otherwise, wait until
// there is more of it. Each TestMain that does not end in Main calls it.
func CollectSeldom() {
	const percent, limit = 800, 5 << 29
	debug.SetGCPercent(percent)
	debug.SetMemoryLimit(limit)
}

func complain(err error) int {
	fmt.Fprintln(os.Stderr, "database for tests:", err)
	return 1
}
