// Command simplevalidations is the whole product: web server, worker, scheduler and command line.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/simplevalidations/simplevalidations/config/cmd"
)

// version is set by the linker, unless go install builds the program.
var version string

func main() {
	os.Exit(run())
}

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The first signal asks for an orderly end; with the handler gone, a second one forces it.
	context.AfterFunc(ctx, stop)
	info, _ := debug.ReadBuildInfo()
	program := cmd.Program{
		Environ: os.Environ(), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Version: cmd.Version(version, info),
	}
	return program.Run(ctx, os.Args[1:])
}
