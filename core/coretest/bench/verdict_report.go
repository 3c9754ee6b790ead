package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

func executing() []string { return []string{systemEmbedded, systemRedis, systemSplit} }

// verdictGoals compares verdicts with starts that nothing executes, and with pgbench.
func verdictGoals(rows []verdictRow) []goal {
	var goals []goal
	for _, r := range rows {
		if r.what == workVerdicts && (r.clients == 32 || r.clients == 64) {
			for _, name := range executing()[:2] {
				goals = append(goals, goal{
					what:  fmt.Sprintf("%s, %d clients, %s, to starts alone", r.what, r.clients, name),
					bound: atLeast(0.7, unitTimes), values: r.ratios(name, systemStarts, sample.perSecond),
					note: fmt.Sprintf("%s a second, starts %s", thousands(r.median(name, sample.perSecond)),
						thousands(r.median(systemStarts, sample.perSecond))),
				})
			}
		}
		if r.clients != 32 {
			continue
		}
		least := 1.5
		if r.what == workHotVerdicts {
			least = 3
		}
		goals = append(goals, goal{
			what:  fmt.Sprintf("%s, 32 clients, %s, to pgbench's", r.what, systemEmbedded),
			bound: atLeast(least, unitTimes), values: r.ratios(systemEmbedded, systemPgbench, sample.perSecond),
			note: fmt.Sprintf("%s a second, pgbench %s", thousands(r.median(systemEmbedded, sample.perSecond)),
				thousands(r.median(systemPgbench, sample.perSecond))),
		})
		if r.what == workVerdicts {
			goals = append(goals, r.costGoals()...)
		}
	}
	return goals
}

// costGoals compares the processor time of the service and PostgreSQL.
func (r verdictRow) costGoals() []goal {
	cost := func(s sample) float64 { return each(s, s.cpu.service+s.cpu.postgres) }
	var goals []goal
	for _, name := range executing()[:2] {
		goals = append(goals, goal{
			what:  fmt.Sprintf("CPU of a verdict, 32 clients, %s, to that of a start alone", name),
			bound: atMost(1.6, unitTimes), values: r.ratios(name, systemStarts, cost),
			note: fmt.Sprintf("%.0f µs, start %.0f µs", r.median(name, cost), r.median(systemStarts, cost)),
		})
	}
	return goals
}

func (r verdictRow) ratios(name, to string, value func(sample) float64) []float64 {
	ratios := make([]float64, len(r.samples[name]))
	for i, s := range r.samples[name] {
		ratios[i] = value(s) / value(r.samples[to][i])
	}
	return ratios
}

func (r verdictRow) spread(name string, value func(sample) float64) spread {
	values := make([]float64, len(r.samples[name]))
	for i, s := range r.samples[name] {
		values[i] = value(s)
	}
	return spreadOf(values)
}

func (r verdictRow) median(name string, value func(sample) float64) float64 {
	return r.spread(name, value).median
}

func writeVerdicts(page *strings.Builder, rows []verdictRow) {
	if len(rows) == 0 {
		return
	}
	names := slices.Concat(executing(), []string{systemStarts, systemPgbench})
	writeTable(page, "a second", names, rows, func(r verdictRow, name string) string {
		return thousands(r.median(name, sample.perSecond))
	})
	writeTable(page, "run to verdict, p50 and p99 in ms", executing(), rows, func(r verdictRow, name string) string {
		return fmt.Sprintf("%.1f, %.1f",
			r.median(name, func(s sample) float64 { return millis(s, 50) }),
			r.median(name, func(s sample) float64 { return millis(s, 99) }))
	})
	writeTable(page, "µs of service, PostgreSQL, Redis, load", names, rows, func(r verdictRow, name string) string {
		parts := make([]string, 0, 4)
		for _, part := range []func(cpuTimes) time.Duration{
			func(c cpuTimes) time.Duration { return c.service }, func(c cpuTimes) time.Duration { return c.postgres },
			func(c cpuTimes) time.Duration { return c.redis }, func(c cpuTimes) time.Duration { return c.load },
		} {
			parts = append(parts, fmt.Sprintf("%.0f",
				r.median(name, func(s sample) float64 { return each(s, part(s.cpu)) })))
		}
		return strings.Join(parts, ", ")
	})
}

func writeTable(
	page *strings.Builder, title string, names []string, rows []verdictRow, cell func(verdictRow, string) string,
) {
	fmt.Fprintf(page, "\n| %s | clients | %s |\n|%s\n", title, strings.Join(names, " | "),
		strings.Repeat("---|", len(names)+2))
	for _, r := range rows {
		cells := make([]string, len(names))
		for i, name := range names {
			cells[i] = cell(r, name)
		}
		fmt.Fprintf(page, "| %s | %d | %s |\n", r.what, r.clients, strings.Join(cells, " | "))
	}
}
