package main

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"time"
)

// header says where the figures come from.
type header struct {
	date     time.Time
	took     time.Duration
	rounds   int
	duration time.Duration
	machine  string
}

// report prints the results as Markdown.
func report(out io.Writer, h header, found results) error {
	if len(found.goals)+len(found.rows)+len(found.verdicts) == 0 {
		return nil
	}
	var page strings.Builder
	fmt.Fprintf(&page, "%s, %d processors (%s/%s), %s, %s. %d rounds of %s each, %s in all.\n\n",
		h.date.Format(time.DateOnly), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version(), h.machine,
		h.rounds, h.duration, h.took.Round(time.Second))
	writeGoals(&page, found.goals)
	writeVerdicts(&page, found.verdicts)
	if len(found.rows) > 0 {
		for _, write := range []func(*strings.Builder, []row){writeRates, writeLatencies, writeCosts} {
			page.WriteByte('\n')
			write(&page, found.rows)
		}
	}
	_, err := io.WriteString(out, page.String())
	if err != nil {
		return fmt.Errorf("print results: %w", err)
	}
	return nil
}

// writeRates compares requests a second, also with the number of clients that pgbench does best with.
func writeRates(page *strings.Builder, rows []row) {
	best := make(map[work]float64)
	for _, r := range rows {
		best[r.what] = max(best[r.what], spreadOfPairs(r.pairs, yardstickRate).median)
	}
	page.WriteString("| requests a second | clients | pgbench | service | ratio | ratio to pgbench at its best |\n" +
		"|---|---|---|---|---|---|\n")
	for _, r := range rows {
		service := spreadOfPairs(r.pairs, serviceRate)
		fmt.Fprintf(page, "| %s | %d | %s | %s | %s | %.2f |\n", r.what, r.clients,
			spreadOfPairs(r.pairs, yardstickRate).text(thousands), service.text(thousands),
			spreadOfPairs(r.pairs, pair.ratio).text(hundredths), service.median/best[r.what])
	}
}

func writeLatencies(page *strings.Builder, rows []row) {
	page.WriteString("| latency in ms | clients | pgbench p50 | service p50 | pgbench p99 | service p99 " +
		"| p99 ratio |\n" +
		"|---|---|---|---|---|---|---|\n")
	for _, r := range rows {
		fmt.Fprintf(page, "| %s | %d | %s | %s | %s | %s | %s |\n", r.what, r.clients,
			spreadOfPairs(r.pairs, func(p pair) float64 { return millis(p.yardstick, 50) }).text(hundredths),
			spreadOfPairs(r.pairs, func(p pair) float64 { return millis(p.service, 50) }).text(hundredths),
			spreadOfPairs(r.pairs, func(p pair) float64 { return millis(p.yardstick, 99) }).text(hundredths),
			spreadOfPairs(r.pairs, func(p pair) float64 { return millis(p.service, 99) }).text(hundredths),
			spreadOfPairs(r.pairs, percentileRatio(99)).text(hundredths))
	}
}

// writeCosts shows where the processor time went, as medians.
func writeCosts(page *strings.Builder, rows []row) {
	page.WriteString("| CPU in µs a request | clients | PostgreSQL under pgbench | pgbench " +
		"| PostgreSQL under the service | service | load generator | generator's share |\n" +
		"|---|---|---|---|---|---|---|---|\n")
	for _, r := range rows {
		median := func(value func(pair) float64) float64 { return spreadOfPairs(r.pairs, value).median }
		fmt.Fprintf(page, "| %s | %d | %.0f | %.0f | %.0f | %.0f | %.0f | %.0f %% |\n", r.what, r.clients,
			median(func(p pair) float64 { return each(p.yardstick, p.yardstick.cpu.postgres) }),
			median(func(p pair) float64 { return each(p.yardstick, p.yardstick.cpu.load) }),
			median(func(p pair) float64 { return each(p.service, p.service.cpu.postgres) }),
			median(func(p pair) float64 { return each(p.service, p.service.cpu.service) }),
			median(func(p pair) float64 { return each(p.service, p.service.cpu.load) }),
			median(func(p pair) float64 {
				return float64(p.service.cpu.load) / float64(max(p.service.cpu.total(), 1)) * 100
			}))
	}
}

func yardstickRate(p pair) float64 { return p.yardstick.perSecond() }

func serviceRate(p pair) float64 { return p.service.perSecond() }

func millis(s sample, percent int) float64 { return millisOf(s.latencies, percent) }

func millisOf(l latencies, percent int) float64 {
	return float64(l.percentile(percent)) / float64(time.Millisecond)
}

// percentileRatio is the service's percentile in times of pgbench's.
func percentileRatio(percent int) func(pair) float64 {
	return func(p pair) float64 { return millis(p.service, percent) / millis(p.yardstick, percent) }
}

func each(s sample, used time.Duration) float64 {
	return float64(used) / float64(time.Microsecond) / float64(s.requests)
}

// spread is the median of the rounds and their range.
type spread struct {
	median, least, most float64
}

func spreadOfPairs(pairs []pair, value func(pair) float64) spread {
	return spreadOf(valuesOf(pairs, value))
}

func valuesOf(pairs []pair, value func(pair) float64) []float64 {
	values := make([]float64, len(pairs))
	for i, p := range pairs {
		values[i] = value(p)
	}
	return values
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

func (s spread) text(format func(float64) string) string {
	return fmt.Sprintf("%s (%s to %s)", format(s.median), format(s.least), format(s.most))
}

func hundredths(value float64) string { return fmt.Sprintf("%.2f", value) }

func thousands(value float64) string {
	digits := fmt.Sprintf("%.0f", value)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
