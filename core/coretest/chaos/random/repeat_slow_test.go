//go:build slow

package random

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// totalled are the sums of a run that can be added, each of the faults whose names have the text.
var totalled = [][2]string{
	{"kills", "kill -9"},
	{"freezes", "freeze"},
	{"crashes of PostgreSQL", "crash of PostgreSQL"},
	{"failovers", "failover"},
	{"disk faults", "disk"},
	{"flushes failed", "flush"},
	{"losses of Redis", "Redis"},
	{"steps of the clock", "clock"},
	{"turns of the month", "month"},
}

// total is the line of a run that can be added to those of others.
func (t *trial) total(struck map[string]int) string {
	sums := []string{fmt.Sprintf("total: requests=%d, keys=%d", len(t.attempts), len(t.byKey))}
	for _, each := range totalled {
		sum := 0
		for name, times := range struck {
			if strings.Contains(name, each[1]) && (each[0] != "losses of Redis" || !strings.Contains(name, "network")) {
				sum += times
			}
		}
		sums = append(sums, fmt.Sprintf("%s=%d", each[0], sum))
	}
	violations := 0
	for _, all := range t.broken {
		violations += len(all)
	}
	return strings.Join(append(sums, fmt.Sprintf("violations=%d", violations)), ", ")
}

// attemptAt runs a schedule in a process of its own, whose output it returns, and whether it has failed.
func attemptAt(tb testing.TB, seed uint64, kept []string) (string, bool) {
	tb.Helper()
	run := exec.CommandContext(tb.Context(), os.Args[0], "-test.run", "^TestRandom$", "-test.v", "-test.timeout", "3h",
		"-profile", *profileFlag, "-seed", strconv.FormatUint(seed, 10), "-only", strings.Join(kept, ","))
	output, err := run.CombinedOutput()
	return string(output), err != nil
}

// repeat tries a seed or several ones as often as is wanted, adds what happened, and shrinks what fails first.
func repeat(t *testing.T, p profile, seed uint64) {
	t.Helper()
	sums, failed := make(map[string]int), 0
	summed := regexp.MustCompile(`([a-zA-Z ]+)=(\d+)`)
	for n := range *repeatFlag {
		tried := cmp.Or(seed, drawn())
		output, fails := attemptAt(t, tried, list(*onlyFlag))
		_, line, _ := strings.Cut(output, "total: ")
		line, _, _ = strings.Cut(line, "\n")
		for _, sum := range summed.FindAllStringSubmatch(line, -1) {
			times, _ := strconv.Atoi(sum[2]) // It is a number.
			sums[strings.TrimSpace(sum[1])] += times
		}
		t.Logf("run %d, SEED=%d, failed %t: %s", n+1, tried, fails, line)
		if !fails {
			continue
		}
		failed++
		t.Errorf("SEED=%d:\n%s", tried, output)
		if *shrinkFlag > 0 {
			smallest(t, p, tried, strings.Contains(output, "broken: "))
			return
		}
	}
	t.Logf("%d runs, %d failed, in total: %v", *repeatFlag, failed, sums)
	if *shrinkFlag > 0 {
		t.Error("nothing failed, so nothing can be shrunk: try REPEAT")
	}
}

// smallest shrinks what fails with a seed: its faults at first, and then its clients. Where a promise was broken, one
// has to be broken again.
func smallest(t *testing.T, p profile, seed uint64, broken bool) {
	t.Helper()
	faults, clients := list(*onlyFlag), []string(nil)
	if len(faults) == 0 {
		n := newNemesis(&crowd{stage: &stage{profile: p}}, seed, nil)
		for _, e := range slices.Concat(n.lanes[0], n.lanes[1]) {
			faults = append(faults, e.id)
		}
		for c := range p.clients {
			clients = append(clients, fmt.Sprint("c", c))
		}
	}
	fails := func(kept []string) bool {
		for n := range *shrinkFlag {
			output, failed := attemptAt(t, seed, kept)
			failed = failed && (!broken || strings.Contains(output, "broken: "))
			t.Logf("%d faults and clients, try %d: failed %t", len(kept), n+1, failed)
			if failed {
				t.Logf("ONLY=%s", strings.Join(kept, ",")) // For who does not wait for the end.
				return true
			}
		}
		return false
	}
	faults = shrink(faults, func(kept []string) bool { return fails(slices.Concat(kept, clients)) })
	clients = shrink(clients, func(kept []string) bool { return fails(slices.Concat(faults, kept)) })
	t.Errorf("the smallest that failed: make chaos PROFILE=%s SEED=%d ONLY=%s", *profileFlag, seed,
		strings.Join(slices.Concat(faults, clients), ","))
}

func list(units string) []string { return slices.Sorted(maps.Keys(unitsOf(units))) }
