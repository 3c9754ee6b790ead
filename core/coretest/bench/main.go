// Command bench measures verdicts, starts and replays of the service on this machine and compares them with the
// targets: ratios to pgbench, which writes the same rows to the same tables of the same server, one statement after
// the other, to a service on River and to a bare handler of Echo; and what young databases, backlogs, quotas,
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
	// maxRounds is more than anybody waits for.
	maxRounds = 1000
)

// options are what the command line says.
type options struct {
	dir      string
	clients  []int
	rounds   int
	duration time.Duration
	// youth is how long a database is young, and how long it is measured again when it is settled.
	youth time.Duration
	// only names the parts that are run; empty are all.
	only []string
}

func shortOptions() options {
	return options{
		dir: ".data/bench", clients: []int{8, 32, 64}, rounds: 3, duration: 2 * time.Second, youth: 15 * time.Second,
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
	if err := bench(ctx, opts, stdout, stderr); err != nil {
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
		var err error
		opts.clients, err = parseNumbers(text)
		return err
	})
	flags.IntVar(&opts.rounds, "rounds", opts.rounds, "how often each measurement is repeated")
	flags.DurationVar(&opts.duration, "duration", opts.duration, "how long each measurement takes, in whole seconds")
	flags.Func("only", "some of "+strings.Join(partNames(), ",")+" (default all)", func(text string) error {
		opts.only = strings.Split(text, ",")
		for _, name := range opts.only {
			if !slices.Contains(partNames(), name) {
				return fmt.Errorf("%q is not one of %s", name, strings.Join(partNames(), ", "))
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
	if opts.rounds < 1 || opts.rounds > maxRounds || opts.duration < time.Second ||
		opts.duration%time.Second != 0 || flags.NArg() > 0 {
		fmt.Fprintln(stderr, "bench: give a number of rounds, a duration in whole seconds, and nothing but flags")
		return options{}, errors.New("wrong usage")
	}
	return opts, nil
}

func parseNumbers(text string) ([]int, error) {
	var numbers []int
	for word := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil || n < 1 || n > maxClients {
			return nil, fmt.Errorf("%q is not a number from 1 to %d", word, maxClients)
		}
		numbers = append(numbers, n)
	}
	return numbers, nil
}

// bench runs the whole: start, measure, check, report, stop.
func bench(ctx context.Context, opts options, stdout, stderr io.Writer) error {
	begun := time.Now()
	w, err := startWorld(ctx, opts.dir, stderr)
	if err != nil {
		return err
	}
	cells, err := measureAll(ctx, opts, w, stderr)
	title := fmt.Sprintf("%s, %s. %d rounds of %s each, %s in all.", begun.Format(time.DateOnly), w.describe(ctx),
		opts.rounds, opts.duration, time.Since(begun).Round(time.Second))
	fmt.Fprintln(stderr, "stopping the servers and removing their data")
	err = errors.Join(err, w.stop(ctx))
	// What was measured before a part failed or was interrupted took long enough not to be lost.
	return errors.Join(err, report(stdout, title, cells))
}
