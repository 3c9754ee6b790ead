// Command withpostgres runs another command with a throw-away PostgreSQL server, so that all packages of one `go test`
// share it:
//
//	go run ./core/coretest/withpostgres -- go test ./...
//
// The server's address is in the command's environment, and a folder where packages share the programs they build.
// Signals are passed on to the command, and its exit code is passed back. With -suite the command is a `go test`, whose
// progress and slowest packages are shown.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"syscall"

	"github.com/simplevalidations/simplevalidations/core/coretest"
)

const (
	exitUsage  = 2
	exitFailed = 125
	// exitSignal is added to the number of the signal that ended the command, as shells do.
	exitSignal = 128
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	watched := len(args) > 0 && args[0] == "-suite"
	if watched {
		args = args[1:]
	}
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 || watched && (len(args) < 2 || args[1] != "test") {
		fmt.Fprintln(stderr, "usage: withpostgres [-suite] -- command [argument ...]")
		return exitUsage
	}
	// From here on no signal ends this process, so that the server is removed whatever happens to the command.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)

	cluster, err := coretest.StartCluster(ctx)
	if err != nil {
		fmt.Fprintln(stderr, "withpostgres:", err)
		return exitFailed
	}
	code, err := command(ctx, args, watched, cluster, signals, stdout, stderr)
	if err := errors.Join(err, cluster.Remove(ctx)); err != nil {
		fmt.Fprintln(stderr, "withpostgres:", err)
		return exitFailed
	}
	return code
}

// command runs the command with what it shares, and shows what it says.
func command(
	ctx context.Context, args []string, watched bool, cluster *coretest.Cluster, signals <-chan os.Signal,
	stdout, stderr io.Writer,
) (int, error) {
	programs, err := cluster.MakeDir("programs")
	if err != nil {
		return 0, err
	}
	checkers, err := coretest.BuildCheckers(ctx)
	if err != nil {
		return 0, err
	}
	report := newReport(stdout, 0, isTerminal(stdout))
	if watched {
		report.total = countPackages(ctx, args)
		args = asJSON(args)
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(os.Environ(),
		coretest.DatabaseVariable+"="+cluster.URL(), coretest.ProgramsVariable+"="+programs,
		coretest.CheckersVariable+"="+checkers)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, stdout, stderr
	if slices.Contains(args, "-race") {
		// The race detector is C, whatever other builds go without.
		cmd.Env = append(cmd.Env, "CGO_ENABLED=1")
	}
	if !watched {
		return supervise(cmd, signals)
	}
	events, lines := io.Pipe()
	cmd.Stdout = lines
	read := make(chan error, 1)
	go func() { read <- report.read(events) }()
	code, err := supervise(cmd, signals)
	return code, errors.Join(err, lines.Close(), <-read)
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	found, err := file.Stat()
	return err == nil && found.Mode()&os.ModeCharDevice != 0
}

// supervise runs the command to its end and passes signals on to it.
func supervise(cmd *exec.Cmd, signals <-chan os.Signal) (int, error) {
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("start command: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case err := <-ended:
			return exitCode(err)
		case received := <-signals:
			if err := cmd.Process.Signal(received); err != nil && !errors.Is(err, os.ErrProcessDone) {
				return 0, errors.Join(fmt.Errorf("pass signal on: %w", err), <-ended)
			}
		}
	}
}

func exitCode(err error) (int, error) {
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return 0, err
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return exitSignal + int(status.Signal()), nil
	}
	return exit.ExitCode(), nil
}
