package main

import (
	"fmt"
	"strings"
)

// unit is how a value is written.
type unit string

const (
	unitTimes     unit = "times"
	unitShare     unit = "%"
	unitMillis    unit = "ms"
	unitPerSec    unit = "a second"
	unitCPU       unit = "% of a processor"
	unitMebibytes unit = "MiB"
	unitCount     unit = ""
	wholeShares        = 100
)

func (u unit) text(value float64) string {
	switch u {
	case unitTimes:
		return hundredths(value) + " times"
	case unitShare:
		return fmt.Sprintf("%.0f %%", value*wholeShares)
	case unitMillis:
		return fmt.Sprintf("%.1f ms", value)
	case unitPerSec:
		return thousands(value) + " a second"
	case unitCPU:
		return hundredths(value) + " % of a processor"
	case unitMebibytes:
		return thousands(value) + " MiB"
	case unitCount:
		return thousands(value)
	}
	return hundredths(value)
}

// bound is the least or the most that a value should be.
type bound struct {
	value float64
	unit  unit
	most  bool
}

func atLeast(value float64, u unit) bound { return bound{value: value, unit: u} }

func atMost(value float64, u unit) bound { return bound{value: value, unit: u, most: true} }

func (b bound) text() string {
	if b.most {
		return "at most " + b.unit.text(b.value)
	}
	return "at least " + b.unit.text(b.value)
}

func (b bound) holds(value float64) bool {
	if b.most {
		return value <= b.value
	}
	return value >= b.value
}

// goal is a line of the table of targets: what was measured, round by round, and what is wanted. Without values it was
// not measured, and the note says why.
type goal struct {
	what   string
	bound  bound
	values []float64
	note   string
}

func (g goal) verdict() string {
	switch {
	case len(g.values) == 0:
		return "not measured"
	case g.bound.holds(spreadOf(g.values).median):
		return "met"
	default:
		return "missed"
	}
}

func writeGoals(page *strings.Builder, goals []goal) {
	page.WriteString("| what | target | median | range | result | seen |\n|---|---|---|---|---|---|\n")
	for _, g := range goals {
		median, between := "", ""
		if len(g.values) > 0 {
			s := spreadOf(g.values)
			median = g.bound.unit.text(s.median)
			if len(g.values) > 1 {
				between = g.bound.unit.text(s.least) + " to " + g.bound.unit.text(s.most)
			}
		}
		fmt.Fprintf(page, "| %s | %s | %s | %s | %s | %s |\n",
			g.what, g.bound.text(), median, between, g.verdict(), g.note)
	}
}

// rateGoals judges what was measured of starts and replays beside pgbench.
func rateGoals(rows []row) []goal {
	var goals []goal
	for _, r := range rows {
		switch {
		case r.clients == 1 && r.what == workMany:
			goals = append(goals, goal{
				what: "latency of a lone start, p50 to pgbench's", bound: atMost(1.6, unitTimes),
				values: valuesOf(r.pairs, percentileRatio(50)),
			})
		default:
			goals = append(goals, ratioGoal(r)...)
		}
		if r.clients == 64 && r.what != workReplay {
			goals = append(goals, goal{
				what: fmt.Sprintf("%s, 64 clients, p99 to pgbench's", r.what), bound: atMost(0.2, unitTimes),
				values: valuesOf(r.pairs, percentileRatio(99)),
			})
		}
	}
	return append(goals, bestGoals(rows)...)
}

// ratioGoal is empty where no ratio is wanted.
func ratioGoal(r row) []goal {
	type measured struct {
		what    work
		clients int
	}
	wanted := map[measured]float64{
		{workMany, 8}: 0.7, {workMany, 32}: 1.5, {workMany, 64}: 2.2,
		{workHot, 8}: 1.1, {workHot, 32}: 3, {workHot, 64}: 5,
		{workReplay, 32}: 0.28,
	}
	least, ok := wanted[measured{r.what, r.clients}]
	if !ok {
		return nil
	}
	return []goal{{
		what: fmt.Sprintf("%s, %d clients, to pgbench's", r.what, r.clients), bound: atLeast(least, unitTimes),
		values: valuesOf(r.pairs, pair.ratio),
		note: fmt.Sprintf("%s a second, pgbench %s", thousands(spreadOf(valuesOf(r.pairs, serviceRate)).median),
			thousands(spreadOf(valuesOf(r.pairs, yardstickRate)).median)),
	}}
}

// bestGoals compare both sides with the number of clients that each does best with, round by round.
func bestGoals(rows []row) []goal {
	var goals []goal
	for _, wanted := range []struct {
		what  work
		least float64
	}{{workMany, 1.3}, {workHot, 2}} {
		var service, yardstick []float64
		for _, r := range rows {
			if r.what != wanted.what {
				continue
			}
			if service == nil {
				service, yardstick = make([]float64, len(r.pairs)), make([]float64, len(r.pairs))
			}
			for i, p := range r.pairs {
				service[i] = max(service[i], serviceRate(p))
				yardstick[i] = max(yardstick[i], yardstickRate(p))
			}
		}
		for i := range service {
			service[i] /= yardstick[i]
		}
		goals = append(goals, goal{
			what:  string(wanted.what) + ", best to pgbench's best",
			bound: atLeast(wanted.least, unitTimes), values: service,
		})
	}
	return goals
}
