package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// The lanes. Those of the contests that have two sides of one service are named by what differs.
const (
	laneEmbedded = "serve, embedded Redis"
	laneUntold   = "without the trigger of events"
	laneUnheard  = "nobody listens for events"
	laneHeard    = "events are written and listed"
	laneRedis    = "serve, redis-server"
	laneSplit    = "web and worker"
	laneStarts   = "starts alone"
	lanePgbench  = "pgbench"
	laneBare     = "bare handler"
	laneRiver    = "River"
	laneYoung    = "young database"
	laneSettled  = "settled database"
	laneIdle     = "idle"
	laneBacklog  = "beside a backlog of 10,000 runs"
	laneSpent    = "a tenth over their quota"
	laneWithin   = "all within their quota"
	laneWorker   = "one worker process"
	laneAlone    = "alone"
	laneBusy     = "beside a busy organization"
	laneWebs     = "web processes: %d"
	laneAlls     = "serve: %d"
	laneBoth     = "web processes: %d, workers: %d"
)

// key is a load in a lane. A result has a sample of it for each round.
type key struct {
	what work
	// clients are 0 for the number that is best.
	clients int
	lane    string
}

func (k key) load() string {
	if k.clients == 0 {
		return string(k.what) + ", best number of clients"
	}
	return fmt.Sprintf("%s, clients: %d", k.what, k.clients)
}

type result struct {
	key
	samples []sample
}

// values are those of each round. Without a number of clients they are of the number with the highest value.
func values(of metric, k key, results []*result) []float64 {
	var highest []float64
	for _, r := range results {
		if r.what != k.what || r.lane != k.lane || k.clients != 0 && r.clients != k.clients {
			continue
		}
		for i, s := range r.samples {
			if i == len(highest) {
				highest = append(highest, 0)
			}
			highest[i] = max(highest[i], of(s))
		}
	}
	return highest
}

// metric is a figure of a sample.
type metric func(sample) float64

func rateOf(s sample) float64 { return float64(s.requests) / s.elapsed.Seconds() }

// percentile is the latency in milliseconds that so many of a hundred requests did not exceed.
func percentile(percent int) metric {
	return func(s sample) float64 {
		if len(s.latencies) == 0 {
			return 0
		}
		last := len(s.latencies) - 1
		return float64(s.latencies[min(len(s.latencies)*percent/100, last)]) / float64(time.Millisecond)
	}
}

// cost is the processor time in microseconds that a request took of some sides.
func cost(of ...int) metric {
	return func(s sample) float64 {
		var used time.Duration
		for _, side := range of {
			used += s.cpu[side]
		}
		return float64(used) / float64(time.Microsecond) / float64(max(s.requests, 1))
	}
}

// target is a line of the first table: a figure of one cell and the least that it should be, or the most, in times of
// that of another cell, or a second where there is no other.
type target struct {
	figure    string
	of        metric
	value, to key
	// One of the bounds is given.
	least, most float64
}

// targets are what the service is held to.
func targets() []target {
	list := []target{
		atMost(1.6, "p50", percentile(50), key{workMany, 1, laneStarts}, key{workMany, 1, lanePgbench}),
		atMost(2, "p50", percentile(50), key{workMany, 1, laneBacklog}, key{workMany, 1, laneIdle}),
		atMost(4, "p99", percentile(99), key{workMany, 1, laneBacklog}, key{workMany, 1, laneIdle}),
		atMost(2, "p50", percentile(50), key{workWait, 1, laneEmbedded}, key{workMany, 1, laneEmbedded}),
		atMost(6, "p50", percentile(50), key{workQuiet, 32, laneBusy}, key{workVerdicts, 1, laneAlone}),
		{figure: "rate", of: rateOf, value: key{workMany, 8, laneWorker}, least: 1000},
		atLeast(0.9, key{workOthers, 32, laneSpent}, laneWithin),
	}
	for _, name := range []string{laneEmbedded, laneRedis} {
		list = append(list,
			atLeast(0.7, key{workVerdicts, 32, name}, laneStarts),
			atLeast(0.7, key{workVerdicts, 64, name}, laneStarts),
			atMost(1.6, "CPU", cost(ofService, ofPostgres),
				key{workVerdicts, 32, name}, key{workVerdicts, 32, laneStarts}))
	}
	return append(list,
		atLeast(1.5, key{workVerdicts, 32, laneEmbedded}, lanePgbench),
		atLeast(3, key{workHotVerdicts, 32, laneEmbedded}, lanePgbench),
		atLeast(1.5, key{workVerdicts, 32, laneEmbedded}, laneRiver),
		atLeast(0.97, key{workVerdicts, 32, laneUnheard}, laneUntold),
		atLeast(0.85, key{workVerdicts, 32, laneHeard}, laneUntold),
		atLeast(0.9, key{workMany, 32, laneYoung}, laneSettled),
		atLeast(0.9, key{workVerdicts, 32, laneYoung}, laneSettled),
		atLeast(0.6, key{workReplay, 32, laneStarts}, laneBare),
		atLeast(0.28, key{workReplay, 32, laneStarts}, lanePgbench),
		atLeast(0.7, key{workMany, 8, laneStarts}, lanePgbench),
		atLeast(1.5, key{workMany, 32, laneStarts}, lanePgbench),
		atLeast(2.2, key{workMany, 64, laneStarts}, lanePgbench),
		atLeast(1.3, key{workMany, 0, laneStarts}, lanePgbench),
		atLeast(1.1, key{workHot, 8, laneStarts}, lanePgbench),
		atLeast(3, key{workHot, 32, laneStarts}, lanePgbench),
		atLeast(5, key{workHot, 64, laneStarts}, lanePgbench),
		atLeast(2, key{workHot, 0, laneStarts}, lanePgbench),
		atMost(0.2, "p99", percentile(99), key{workMany, 64, laneStarts}, key{workMany, 64, lanePgbench}),
		atMost(0.2, "p99", percentile(99), key{workHot, 64, laneStarts}, key{workHot, 64, lanePgbench}))
}

// atLeast is of the rates of two lanes under the same load.
func atLeast(least float64, value key, to string) target {
	return target{figure: "rate", of: rateOf, value: value, to: key{value.what, value.clients, to}, least: least}
}

func atMost(most float64, figure string, of metric, value, to key) target {
	return target{figure: figure, of: of, value: value, to: to, most: most}
}

// line is empty for what was not measured.
func (t target) line(results []*result) string {
	text := fmt.Sprintf("%s of %s, %s", t.figure, t.value.load(), t.value.lane)
	write := func(v float64) string { return thousands(v) + " a second" }
	ratios := values(t.of, t.value, results)
	if t.to != (key{}) {
		text += ", to "
		if t.to.load() != t.value.load() {
			text += t.to.load() + ", "
		}
		text += t.to.lane
		write = func(v float64) string { return fmt.Sprintf("%.2f times", v) }
		others := values(t.of, t.to, results)
		ratios = ratios[:min(len(ratios), len(others))]
		for i := range ratios {
			ratios[i] /= others[i]
		}
	}
	if len(ratios) == 0 {
		return ""
	}
	median, least, most := spread(ratios)
	between, verdict := "", "missed"
	if len(ratios) > 1 {
		between = write(least) + " to " + write(most)
	}
	bound, met := "at least "+write(t.least), median >= t.least
	if t.most > 0 {
		bound, met = "at most "+write(t.most), median <= t.most
	}
	if met {
		verdict = "met"
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s |\n", text, bound, write(median), between, verdict)
}

// report prints as Markdown each minute of a soak, the targets, and then each result.
func report(out io.Writer, title string, results []*result, soak []soaked) error {
	if len(results)+len(soak) == 0 {
		return nil
	}
	page := &strings.Builder{}
	fmt.Fprintln(page, title)
	writeSoak(page, soak)
	if len(results) > 0 {
		writeResults(page, results)
	}
	_, err := io.WriteString(out, page.String())
	return err
}

func writeResults(page *strings.Builder, results []*result) {
	fmt.Fprint(page, "\n| what | target | median | range | result |\n|---|---|---|---|---|\n")
	for _, t := range targets() {
		page.WriteString(t.line(results))
	}
	page.WriteString("\n| load | clients | by | a second | p50, p99 in ms | " +
		"µs of service, PostgreSQL, Redis, load |\n|---|---|---|---|---|---|\n")
	for _, r := range results {
		median := func(of metric) float64 {
			value, _, _ := spread(values(of, r.key, results))
			return value
		}
		usual, least, most := spread(values(rateOf, r.key, results))
		fmt.Fprintf(page, "| %s | %d | %s | %s (%s to %s) | %.2f, %.2f | %.0f, %.0f, %.0f, %.0f |\n",
			r.what, r.clients, r.lane, thousands(usual), thousands(least), thousands(most),
			median(percentile(50)), median(percentile(99)),
			median(cost(ofService)), median(cost(ofPostgres)), median(cost(ofRedis)), median(cost(ofLoad)))
	}
	writeWritten(page, results)
}

// writeWritten prints what PostgreSQL wrote for each request, where that was counted.
func writeWritten(page io.Writer, results []*result) {
	head := "\n| load | by | transactions, bytes of the log, syncs of it a request |\n|---|---|---|\n"
	for _, r := range results {
		per := func(of func(written) int64) float64 {
			value, _, _ := spread(values(func(s sample) float64 {
				return float64(of(s.written)) / float64(max(s.requests, 1))
			}, r.key, results))
			return value
		}
		if r.samples[0].written == (written{}) {
			continue
		}
		fmt.Fprintf(page, "%s| %s | %s | %.3f, %s, %.3f |\n", head, r.what, r.lane,
			per(func(w written) int64 { return w.transactions }),
			thousands(per(func(w written) int64 { return w.bytes })),
			per(func(w written) int64 { return w.syncs }))
		head = ""
	}
}

// spread returns the median of the rounds, the least and the most.
func spread(values []float64) (float64, float64, float64) {
	values = slices.Sorted(slices.Values(values))
	last := len(values) - 1
	return (values[last/2] + values[(last+1)/2]) / 2, values[0], values[last]
}

func thousands(value float64) string {
	digits := fmt.Sprintf("%.0f", value)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
