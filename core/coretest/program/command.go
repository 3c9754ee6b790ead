package program

import (
	"strings"
	"testing"
)

// exitMisused is how a command ends that does not understand what is asked of it.
const exitMisused = 2

// Execute runs a command of the program to its end, which has to be a success, and returns its standard output.
func Execute(tb testing.TB, settings []string, stdin string, args ...string) string {
	tb.Helper()
	p := Launch(tb, settings, stdin, args...)
	if got := p.ExitCode(tb); got != 0 {
		tb.Fatalf("exit code of %s = %d, want 0", strings.Join(args, " "), got)
	}
	return p.Stdout()
}

// Refuse runs a command that has to be refused as wrongly used, and returns what it says about that.
func Refuse(tb testing.TB, settings []string, args ...string) string {
	tb.Helper()
	return endWith(tb, exitMisused, settings, args)
}

// Fail runs a command that is understood and has to fail, and returns what it says about that.
func Fail(tb testing.TB, settings []string, args ...string) string {
	tb.Helper()
	return endWith(tb, exitFailed, settings, args)
}

func endWith(tb testing.TB, want int, settings, args []string) string {
	tb.Helper()
	p := Launch(tb, settings, "", args...)
	if got := p.ExitCode(tb); got != want {
		tb.Errorf("exit code of %s = %d, want %d", strings.Join(args, " "), got, want)
	}
	return p.Stderr()
}
