// Command bench measures verdicts, starts and replays of the service on this machine and compares them with the
// targets: ratios to pgbench, which writes the same rows to the same tables of the same server, one statement after
// the other, to a service on River and to a bare handler; and what young databases, backlogs, quotas,
// waiting requests, the queue and a busy organization do to them:
//
//	go run ./core/coretest/bench
//
// It builds the service and runs it as a process of its own, with a private durable PostgreSQL and a Redis, drives it
// over HTTP, checks every answer and after each part the rows, and prints Markdown tables. It promises no figures:
// nothing fails because it is slow. All that it started is stopped and removed at the end.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	exitFailed = 1
	exitUsage  = 2
	// maxClients is far beyond what two processors can serve.
	maxClients = 512
)

// options are what the command line says.
type options struct {
	dir      string
	clients  []int
	rounds   int
	duration time.Duration
	// youth is how long a database is young, and how long it is measured again when it is settled.
	youth time.Duration
	// soak is how long half of the capacity is held, and picture the file that this is drawn in, if there is one.
	soak    time.Duration
	picture string
	// only names the parts that are run; empty are all.
	only []string
}

func shortOptions() options {
	return options{
		dir: ".data/bench", clients: []int{8, 32, 64}, rounds: 3, duration: 2 * time.Second, youth: 15 * time.Second,
		soak: 20 * time.Second,
	}
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
	b := &bench{options: opts, log: stderr}
	if err := b.run(ctx, stdout); err != nil {
		fmt.Fprintln(stderr, "bench:", err)
		return exitFailed
	}
	return 0
}

func parseOptions(args []string, stderr io.Writer) (options, error) {
	opts := shortOptions()
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&opts.dir, "dir", opts.dir, "folder for the servers' data; it has to be on a real disk")
	flags.Func("clients", "numbers of clients (default 8,32,64)", func(text string) error {
		opts.clients = nil
		for word := range strings.SplitSeq(text, ",") {
			n, err := strconv.Atoi(strings.TrimSpace(word))
			if err != nil || n < 1 || n > maxClients {
				return fmt.Errorf("%q is not a number from 1 to %d", word, maxClients)
			}
			opts.clients = append(opts.clients, n)
		}
		return nil
	})
	flags.IntVar(&opts.rounds, "rounds", opts.rounds, "how often each measurement is repeated")
	flags.DurationVar(&opts.duration, "duration", opts.duration, "how long each measurement takes, in whole seconds")
	flags.DurationVar(&opts.soak, "soak", opts.soak, "how long half of the capacity is held")
	flags.StringVar(&opts.picture, "picture", "", "a file to draw that in, as SVG")
	var names []string
	for _, p := range parts() {
		names = append(names, p.name)
	}
	flags.Func("only", "some of "+strings.Join(names, ",")+" (default all)", func(text string) error {
		opts.only = strings.Split(text, ",")
		for _, name := range opts.only {
			if !slices.Contains(names, name) {
				return fmt.Errorf("%q is not one of %s", name, strings.Join(names, ", "))
			}
		}
		return nil
	})
	flags.BoolFunc("full", "measurements of 5s, and a minute of a young database", func(string) error {
		opts.duration, opts.youth = 5*time.Second, time.Minute
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	// pgbench counts in seconds.
	if opts.rounds < 1 || opts.duration < time.Second || opts.duration%time.Second != 0 || flags.NArg() > 0 {
		fmt.Fprintln(stderr, "bench: give a number of rounds, a duration in whole seconds, and nothing but flags")
		return options{}, errors.New("wrong usage")
	}
	return opts, nil
}
