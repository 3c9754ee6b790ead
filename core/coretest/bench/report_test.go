package main

import (
	"strings"
	"testing"
	"time"
)

func made(requests int, p99 time.Duration) sample {
	return sample{
		requests: requests, elapsed: time.Second, latencies: []time.Duration{p99 / 10, p99},
		cpu: cpuTimes{
			ofService: 300 * time.Millisecond, ofPostgres: 600 * time.Millisecond, ofLoad: 100 * time.Millisecond,
		},
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	b := &bench{log: t.Output()}
	for _, s := range []struct {
		key key
		by  sample
	}{
		{key{workHot, 8, lanePgbench}, made(1000, 50*time.Millisecond)},
		{key{workHot, 8, laneStarts}, made(500, 10*time.Millisecond)},
		{key{workHot, 8, lanePgbench}, made(2000, 50*time.Millisecond)},
		{key{workHot, 8, laneStarts}, made(3000, 20*time.Millisecond)},
		{key{workHot, 8, lanePgbench}, made(1500, 50*time.Millisecond)},
		{key{workHot, 8, laneStarts}, made(1500, 30*time.Millisecond)},
		{key{workHot, 64, lanePgbench}, made(1000, 300*time.Millisecond)},
		{key{workHot, 64, laneStarts}, made(3000, 30*time.Millisecond)},
		{key{workVerdicts, 32, laneStarts}, made(2000, time.Millisecond)},
		{key{workVerdicts, 32, laneRedis}, made(600, time.Millisecond)},
		{key{workMany, 8, laneWorker}, made(12345, 0)},
		{key{workVerdicts, 1, laneAlone}, made(10, 10*time.Millisecond)},
		{key{workQuiet, 32, laneBusy}, made(10, 20*time.Millisecond)},
	} {
		b.record(row{s.key.what, s.key.clients}, s.key.lane, s.by)
	}
	counted := made(2000, time.Millisecond)
	counted.written = written{transactions: 200, bytes: 12_000_000, syncs: 100}
	b.record(row{workMany, 64}, "web processes: 2", counted)
	var page strings.Builder
	b.soaked = []soaked{{sample: made(100, time.Millisecond), waiting: 3, memory: 80}}
	var picture strings.Builder
	err := drawSoak(&picture, append(b.soaked, soaked{sample: made(200, time.Millisecond)}))
	if want := `d="M0.0 40.0L300.0 0.0"`; err != nil || !strings.Contains(picture.String(), want) {
		t.Errorf("picture = %v, %s, want one with %s", err, picture.String(), want)
	}
	if err := report(&page, "The title.", b.results, b.soaked); err != nil {
		t.Fatalf("report: %v", err)
	}
	for _, want := range []string{
		"The title.\n\n| minute |",
		"| 1 | 100 | 1.00 | 1.00 | 3 | 0 | 80 | 0 | 0 | 0 | 0 |\n",
		"| rate of fresh starts, one organization, clients: 8, starts alone, to pgbench | at least 1.10 times | " +
			"1.00 times | 0.50 times to 1.50 times | missed |",
		"| rate of fresh starts, one organization, best number of clients, starts alone, to pgbench | " +
			"at least 2.00 times | 1.50 times | 1.00 times to 3.00 times | missed |",
		"| p99 of fresh starts, one organization, clients: 64, starts alone, to pgbench | at most 0.20 times | " +
			"0.10 times |  | met |",
		"| CPU of verdicts, 1,000 organizations, clients: 32, serve, redis-server, to starts alone | " +
			"at most 1.60 times | 3.33 times |  | missed |",
		"| p50 of verdicts, one client beside those of a busy organization, clients: 32, beside a busy organization, " +
			"to verdicts, 1,000 organizations, clients: 1, alone | at most 6.00 times | 2.00 times |  | met |",
		"| rate of fresh starts, 1,000 organizations, clients: 8, one worker process | at least 1,000 a second | " +
			"12,345 a second |  | met |",
		"request |\n|---|---|---|\n| fresh starts, 1,000 organizations | web processes: 2 | 0.100, 6,000, 0.050 |\n",
		"| fresh starts, one organization | 8 | starts alone | 1,500 (500 to 3,000) | 20.00, 20.00 | 200, 400, 0, 67 |",
	} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page has no line with %q:\n%s", want, page.String())
		}
	}
}
