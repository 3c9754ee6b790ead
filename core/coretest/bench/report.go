package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// key says what a cell holds: the samples of a load in a lane, one for each round.
type key struct {
	what    work
	clients int
	lane    string
}

type cell struct {
	key
	samples []sample
}

// cells are in the order in which they were first measured.
type cells []*cell

// with returns the cells with one more sample.
func (c cells) with(k key, s sample) cells {
	i := slices.IndexFunc(c, func(other *cell) bool { return other.key == k })
	if i < 0 {
		i, c = len(c), append(c, &cell{key: k})
	}
	c[i].samples = append(c[i].samples, s)
	return c
}

// values are those of each round. Without a number of clients they are of the number with the highest value.
func (c cells) values(k key, of metric) []float64 {
	var highest []float64
	for _, cell := range c {
		if cell.what != k.what || cell.lane != k.lane || k.clients != 0 && cell.clients != k.clients {
			continue
		}
		for i, s := range cell.samples {
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

func rate(s sample) float64 { return float64(s.requests) / s.elapsed.Seconds() }

func percentile(percent int) metric {
	return func(s sample) float64 { return float64(s.latencies.percentile(percent)) / float64(time.Millisecond) }
}

func cost(used func(cpuTimes) time.Duration) metric {
	return func(s sample) float64 {
		return float64(used(s.cpu)) / float64(time.Microsecond) / float64(max(s.requests, 1))
	}
}

// target is a line of the first table: a figure of one cell and the least that it should be, or the most, in times of
// that of another cell, or a second where there is no other.
type target struct {
	text  string
	of    metric
	value key
	to    key
	bound float64
	most  bool
}

// judge returns the value of each round, none where it was not measured.
func (t target) judge(found cells) []float64 {
	values := found.values(t.value, t.of)
	if t.to == (key{}) {
		return values
	}
	others := found.values(t.to, t.of)
	ratios := make([]float64, min(len(values), len(others)))
	for i := range ratios {
		ratios[i] = values[i] / others[i]
	}
	return ratios
}

func (t target) line(found cells) string {
	values := t.judge(found)
	if len(values) == 0 {
		return ""
	}
	write, bound, s := func(v float64) string { return thousands(v) + " a second" }, "at least", spreadOf(values)
	if t.to != (key{}) {
		write = func(v float64) string { return hundredths(v) + " times" }
	}
	met := s.median >= t.bound
	if t.most {
		bound, met = "at most", s.median <= t.bound
	}
	result := "missed"
	if met {
		result = "met"
	}
	between := ""
	if len(values) > 1 {
		between = write(s.least) + " to " + write(s.most)
	}
	return fmt.Sprintf("| %s | %s %s | %s | %s | %s |\n",
		t.text, bound, write(t.bound), write(s.median), between, result)
}

// report prints the results as Markdown: the targets, and then every cell.
func report(out io.Writer, title string, found cells) error {
	if len(found) == 0 {
		return nil
	}
	var page strings.Builder
	fmt.Fprintf(&page, "%s\n\n| what | target | median | range | result |\n|---|---|---|---|---|\n", title)
	for _, t := range targets() {
		page.WriteString(t.line(found))
	}
	page.WriteString("\n| load | clients | by | a second | p50, p99 in ms | " +
		"µs of service, PostgreSQL, Redis, load |\n" +
		"|---|---|---|---|---|---|\n")
	for _, c := range found {
		median := func(of metric) float64 { return spreadOf(found.values(c.key, of)).median }
		rates := spreadOf(found.values(c.key, rate))
		fmt.Fprintf(&page, "| %s | %d | %s | %s (%s to %s) | %.2f, %.2f | %.0f, %.0f, %.0f, %.0f |\n",
			c.what, c.clients, c.lane, thousands(rates.median), thousands(rates.least), thousands(rates.most),
			median(percentile(50)), median(percentile(99)),
			median(cost(func(c cpuTimes) time.Duration { return c.service })),
			median(cost(func(c cpuTimes) time.Duration { return c.postgres })),
			median(cost(func(c cpuTimes) time.Duration { return c.redis })),
			median(cost(func(c cpuTimes) time.Duration { return c.load })))
	}
	if _, err := io.WriteString(out, page.String()); err != nil {
		return fmt.Errorf("print results: %w", err)
	}
	return nil
}

// spread is the median of the rounds and their range.
type spread struct {
	median, least, most float64
}

func spreadOf(values []float64) spread {
	values = slices.Sorted(slices.Values(values))
	middle := len(values) / 2
	median := values[middle]
	if len(values)%2 == 0 {
		median = (values[middle-1] + values[middle]) / 2
	}
	return spread{median: median, least: values[0], most: values[len(values)-1]}
}

func hundredths(value float64) string { return fmt.Sprintf("%.2f", value) }

func thousands(value float64) string {
	digits := fmt.Sprintf("%.0f", value)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
