// Command bench measures how many runs a second the service starts and replays on this machine, as ratios to pgbench,
// which writes the same rows to the same tables of the same server, one statement after the other:
//
//	go run ./core/coretest/bench
//
// It builds the service and runs it as a process of its own, with a private durable PostgreSQL and a Redis, drives it
// over HTTP in alternation with pgbench, checks every answer and in the end the rows, and prints a Markdown table. It
// promises no figures: nothing fails because it is slow. All that it started is stopped and removed at the end.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	exitFailed = 1
	exitUsage  = 2
)

// options are what the command line says.
type options struct {
	dir      string
	clients  []int
	rounds   int
	duration time.Duration
}

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The first signal asks for an orderly end; with the handler gone, a second one forces it.
	context.AfterFunc(ctx, stop)
	opts, err := parseOptions(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		return exitUsage
	}
	err = bench(ctx, opts, stdout, newProgress(stderr))
	switch {
	case err != nil && ctx.Err() != nil:
		fmt.Fprintln(stderr, "bench: interrupted:", err)
		return exitFailed
	case err != nil:
		fmt.Fprintln(stderr, "bench:", err)
		return exitFailed
	}
	return 0
}

func parseOptions(args []string, stderr io.Writer) (options, error) {
	opts := options{clients: []int{8, 32, 64}, rounds: 3, duration: 3 * time.Second}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&opts.dir, "dir", ".data/bench", "folder for the servers' data; it has to be on a real disk")
	flags.Func("clients", "numbers of clients (default 8,32,64)", func(text string) error {
		clients, err := parseClients(text)
		opts.clients = clients
		return err
	})
	flags.IntVar(&opts.rounds, "rounds", opts.rounds, "how often each measurement is repeated")
	flags.DurationVar(&opts.duration, "duration", opts.duration, "how long each measurement takes, in whole seconds")
	flags.BoolFunc("short", "3 rounds of 3s, under five minutes in all (the default)", func(string) error {
		opts.rounds, opts.duration = 3, 3*time.Second
		return nil
	})
	flags.BoolFunc("full", "5 rounds of 10s, twenty minutes in all", func(string) error {
		opts.rounds, opts.duration = 5, 10*time.Second
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	// pgbench counts in seconds.
	if opts.rounds < 1 || opts.duration < time.Second || opts.duration%time.Second != 0 || flags.NArg() > 0 {
		fmt.Fprintln(stderr, "bench: give at least one round, a duration in whole seconds, and nothing but flags")
		return options{}, errors.New("wrong usage")
	}
	return opts, nil
}

func parseClients(text string) ([]int, error) {
	var clients []int
	for word := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil || n < 1 || n > maxClients {
			return nil, fmt.Errorf("%q is not a number from 1 to %d", word, maxClients)
		}
		clients = append(clients, n)
	}
	return clients, nil
}

// bench runs the whole: start, measure, check, report, stop.
func bench(ctx context.Context, opts options, stdout io.Writer, show *progress) error {
	begun := time.Now()
	w, err := startWorld(ctx, opts.dir, show)
	if err != nil {
		return err
	}
	results, err := measureAll(ctx, opts, w, show)
	if err == nil {
		show.say("checking runs, keys and usage")
		err = check(ctx, w.db, w.tenants)
	}
	machine := w.describe(ctx)
	show.say("stopping the servers and removing their data")
	if err := errors.Join(err, w.stop(ctx)); err != nil {
		return err
	}
	return report(stdout, header{
		date: begun, took: time.Since(begun), rounds: opts.rounds, duration: opts.duration, machine: machine,
	}, results)
}
