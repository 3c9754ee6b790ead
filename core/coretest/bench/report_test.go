package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func made(requests int, p99 time.Duration) sample {
	return sample{
		requests: requests, elapsed: time.Second, latencies: latencies{p99 / 10, p99},
		cpu: cpuTimes{postgres: 600 * time.Millisecond, service: 300 * time.Millisecond, load: 100 * time.Millisecond},
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	rows := []row{
		{what: workHot, clients: 8, pairs: []pair{
			{yardstick: made(1000, 50*time.Millisecond), service: made(500, 10*time.Millisecond)},
			{yardstick: made(2000, 50*time.Millisecond), service: made(3000, 20*time.Millisecond)},
			{yardstick: made(1500, 50*time.Millisecond), service: made(1500, 30*time.Millisecond)},
		}},
		{what: workHot, clients: 64, pairs: []pair{
			{yardstick: made(1000, 300*time.Millisecond), service: made(3000, 30*time.Millisecond)},
		}},
	}
	var page strings.Builder
	h := header{
		date: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), took: 90 * time.Second, rounds: 3, duration: time.Second,
		machine: "PostgreSQL 15.1, redis-server",
	}
	if err := report(&page, h, results{rows: rows, goals: rateGoals(rows)}); err != nil {
		t.Fatalf("report: %v", err)
	}
	for _, want := range []string{
		"PostgreSQL 15.1, redis-server. 3 rounds of 1s each, 1m30s in all.",
		"| fresh starts, one organization, 8 clients, to pgbench's | at least 1.10 times | 1.00 times | " +
			"0.50 times to 1.50 times | missed | 1,500 a second, pgbench 1,500 |",
		"| fresh starts, one organization, 64 clients, p99 to pgbench's | at most 0.20 times | 0.10 times | " +
			" | met |",
		"| 8 | 1,500 (1,000 to 2,000) | 1,500 (500 to 3,000) | 1.00 (0.50 to 1.50) | 1.00 |",
		"| 64 | 1,000 (1,000 to 1,000) | 3,000 (3,000 to 3,000) | 3.00 (3.00 to 3.00) | 2.00 |",
		"| 50.00 (50.00 to 50.00) | 20.00 (10.00 to 30.00) | 0.40 (0.20 to 0.60) |",
		"| fresh starts, one organization | 64 | 600 | 100 | 200 | 100 | 33 | 10 % |",
	} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page has no line with %q:\n%s", want, page.String())
		}
	}
}

func TestSpread(t *testing.T) {
	t.Parallel()
	values := []float64{4, 1, 2, 9}
	if got, want := spreadOf(values), (spread{median: 3, least: 1, most: 9}); got != want {
		t.Errorf("spread = %+v, want %+v", got, want)
	}
}

func TestThousands(t *testing.T) {
	t.Parallel()
	for value, want := range map[float64]string{0: "0", 999: "999", 1000: "1,000", 1234567.4: "1,234,567"} {
		if got := thousands(value); got != want {
			t.Errorf("%f is written %s, want %s", value, got, want)
		}
	}
}

func TestPlanned(t *testing.T) {
	t.Parallel()
	want := []row{
		{what: workMany, clients: 1},
		{what: workHot, clients: 1},
		{what: workReplay, clients: 1},
		{what: workMany, clients: 8},
		{what: workHot, clients: 8},
		{what: workReplay, clients: 8},
	}
	if diff := cmp.Diff(want, planned([]int{1, 8}), cmp.AllowUnexported(row{})); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

func TestGoalVerdict(t *testing.T) {
	t.Parallel()

	for name, tt := range map[string]struct {
		goal goal
		want string
	}{
		"Met":         {goal{bound: atLeast(2, unitTimes), values: []float64{1, 2, 3}}, "met"},
		"Missed":      {goal{bound: atLeast(2, unitTimes), values: []float64{1, 1.9, 3}}, "missed"},
		"MetAtMost":   {goal{bound: atMost(0, unitCount), values: []float64{0}}, "met"},
		"MissedAbove": {goal{bound: atMost(0.2, unitTimes), values: []float64{0.3}}, "missed"},
		"NotMeasured": {goal{bound: atMost(1, unitTimes), note: "why"}, "not measured"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tt.goal.verdict(); got != tt.want {
				t.Errorf("verdict = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestGrowthGoals(t *testing.T) {
	t.Parallel()
	at := func(keys int, starts, replays float64) speed {
		costs := []float64{100}
		return speed{keys, paces{[]float64{starts}, costs}, paces{[]float64{replays}, costs}}
	}
	base, now := at(10_000, 2, 0.5), at(5_000_000, 1.8, 0.4)
	got := growthGoals(base, now, "")
	for i, want := range []struct {
		value   float64
		verdict string
	}{{0.9, "met"}, {0.8, "missed"}} {
		if got[i].values[0] != want.value || got[i].verdict() != want.verdict {
			t.Errorf("%s = %v, %s; want %v, %s", got[i].what, got[i].values, got[i].verdict(), want.value, want.verdict)
		}
	}
}

func TestReportOfVerdicts(t *testing.T) {
	t.Parallel()
	rows := plannedVerdicts([]int{32})
	for _, r := range rows {
		for name, requests := range map[string]int{
			systemEmbedded: 1500, systemRedis: 600, systemSplit: 500, systemStarts: 2000, systemPgbench: 1000,
		} {
			r.samples[name] = []sample{made(requests, 50*time.Millisecond)}
		}
	}
	var page strings.Builder
	if err := report(&page, header{}, results{verdicts: rows, goals: verdictGoals(rows)}); err != nil {
		t.Fatalf("report: %v", err)
	}
	for _, want := range []string{
		"| verdicts, 1,000 organizations, 32 clients, serve, embedded Redis, to starts alone | at least 0.70 times | " +
			"0.75 times |  | met | 1,500 a second, starts 2,000 |",
		"| verdicts, one organization, 32 clients, serve, embedded Redis, to pgbench's | at least 3.00 times | " +
			"1.50 times |  | missed | 1,500 a second, pgbench 1,000 |",
		"| CPU of a verdict, 32 clients, serve, redis-server, to that of a start alone | at most 1.60 times | " +
			"3.33 times |  | missed | 1500 µs, start 450 µs |",
		"| verdicts, 1,000 organizations | 32 | 1,500 | 600 | 500 | 2,000 | 1,000 |",
		"| verdicts, 1,000 organizations | 32 | 50.0, 50.0 | 50.0, 50.0 | 50.0, 50.0 |",
		"| verdicts, one organization | 32 | 200, 400, 0, 67 |",
	} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page has no line with %q:\n%s", want, page.String())
		}
	}
}
