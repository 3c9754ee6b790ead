// Command bench measures the service on this machine and compares it with the targets: verdicts, starts and replays as
// ratios to pgbench, which writes the same rows to the same tables of the same server, one statement after the other; a
// service on River; and what young databases, backlogs, quotas, waiting requests, the queue, memory, purges and large
// tables do to them:
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
	// maxKeys is more than any disk has room for.
	maxKeys = 1_000_000_000
)

// options are what the command line says.
type options struct {
	dir      string
	clients  []int
	rounds   int
	duration time.Duration
	// only names the scenarios that are run; empty are all.
	only  []string
	scale scale
}

// scale is how large the measurements are that take long.
type scale struct {
	rounds int
	// keys are the numbers of keys that the tables grow to; the first is compared with.
	keys   []int
	purged int
	// before is how long starts are measured without a purge. At full size it is about as long as the purge takes, so
	// that both meet as many checkpoints and stalls of the disk.
	before time.Duration
	load   time.Duration
	// youth is how long a database is young, and how long it is measured again when it is settled.
	youth time.Duration
	idle  time.Duration
}

func (o options) wants(scenario string) bool {
	return len(o.only) == 0 || slices.Contains(o.only, scenario)
}

func shortOptions() options {
	return options{
		dir: ".data/bench", clients: []int{8, 32, 64}, rounds: 3, duration: 2 * time.Second,
		scale: scale{
			rounds: 1, keys: []int{10_000, 100_000}, purged: 100_000, before: 10 * time.Second, load: 20 * time.Second,
			youth: 15 * time.Second, idle: 10 * time.Second,
		},
	}
}

func fullOptions() options {
	o := shortOptions()
	o.duration = 5 * time.Second
	o.scale = scale{
		rounds: 3, keys: []int{10_000, 1_000_000, 5_000_000}, purged: 1_000_000, before: 3 * time.Minute,
		load: 10 * time.Minute, youth: time.Minute, idle: time.Minute,
	}
	return o
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
	opts, full := shortOptions(), fullOptions()
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&opts.dir, "dir", opts.dir, "folder for the servers' data; it has to be on a real disk")
	var rounds, keys []int
	flags.Func("clients", "numbers of clients (default 8,32,64)", numbersInto(&opts.clients, maxClients))
	flags.Func("rounds", "how often each measurement is repeated (default 3, and 1 behind the part rates)",
		numbersInto(&rounds, maxRounds))
	flags.DurationVar(&opts.duration, "duration", opts.duration, "how long each measurement takes, in whole seconds")
	flags.Func("only", "some of "+strings.Join(scenarioNames(), ",")+" (default all)",
		func(text string) error {
			names, err := parseScenarios(text)
			opts.only = names
			return err
		})
	flags.Func("keys", "numbers of keys to grow to; the first is compared with (default 10000,100000)",
		numbersInto(&keys, maxKeys))
	flags.BoolFunc("full", "3 rounds of 5s, up to 5,000,000 keys where the disk has room for them, more than an hour",
		func(string) error {
			opts.rounds, opts.duration, opts.scale = full.rounds, full.duration, full.scale
			return nil
		})
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	if keys != nil {
		opts.scale.keys = keys
	}
	if len(rounds) == 1 {
		opts.rounds, opts.scale.rounds = rounds[0], rounds[0]
	}
	// pgbench counts in seconds.
	if len(rounds) > 1 || opts.duration < time.Second || opts.duration%time.Second != 0 || flags.NArg() > 0 {
		fmt.Fprintln(stderr, "bench: give one number of rounds, a duration in whole seconds, and nothing but flags")
		return options{}, errors.New("wrong usage")
	}
	return opts, nil
}

// numbersInto is a flag that sets numbers.
func numbersInto(numbers *[]int, most int) func(string) error {
	return func(text string) error {
		var err error
		*numbers, err = parseNumbers(text, most)
		return err
	}
}

func parseNumbers(text string, most int) ([]int, error) {
	var numbers []int
	for word := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil || n < 1 || n > most {
			return nil, fmt.Errorf("%q is not a number from 1 to %d", word, most)
		}
		numbers = append(numbers, n)
	}
	return numbers, nil
}

func scenarioNames() []string {
	var names []string
	for _, s := range scenarios() {
		names = append(names, s.name)
	}
	return names
}

func parseScenarios(text string) ([]string, error) {
	names := strings.Split(text, ",")
	for _, name := range names {
		if !slices.Contains(scenarioNames(), name) {
			return nil, fmt.Errorf("%q is not one of %s", name, strings.Join(scenarioNames(), ", "))
		}
	}
	return names, nil
}

// bench runs the whole: start, measure, check, report, stop.
func bench(ctx context.Context, opts options, stdout io.Writer, show *progress) error {
	begun := time.Now()
	w, err := startWorld(ctx, opts.dir, show)
	if err != nil {
		return err
	}
	found, err := measureAll(ctx, opts, w, show)
	machine := w.describe(ctx)
	show.say("stopping the servers and removing their data")
	err = errors.Join(err, w.stop(ctx))
	// What was measured before a part failed or was interrupted took long enough not to be lost.
	return errors.Join(err, report(stdout, header{
		date: begun, took: time.Since(begun), rounds: opts.rounds, duration: opts.duration, machine: machine,
	}, found))
}
