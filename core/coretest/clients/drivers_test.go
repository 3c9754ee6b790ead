package clients

import (
	"os/exec"
	"testing"
)

// drivers are the clients that are tested, by their names.
func drivers() map[string]func(testing.TB) Driver {
	return map[string]func(testing.TB) Driver{
		"Go": func(testing.TB) Driver { return newGoDriver() },
		"Python": func(tb testing.TB) Driver {
			tb.Helper()
			return programDriver(tb, "../../client/python", "python3", "tests/driver.py")
		},
		"TypeScript": newTypeScriptDriver,
	}
}

// programDriver starts a driver that is a program, which has to end well.
func programDriver(tb testing.TB, dir, name string, args ...string) *Process {
	tb.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	driver, err := StartDriver(cmd)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := driver.Close(); err != nil {
			tb.Errorf("driver %s: %v", name, err)
		}
	})
	return driver
}
