//go:build slow

package random

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

func TestMain(m *testing.M) { program.Main(m) }

var (
	seedFlag    = flag.Uint64("seed", 0, "draws the faults and what clients do; 0 draws a seed")
	profileFlag = flag.String("profile", "short", "short or long")
)

// profile is how much is to happen, and how much has to have happened for a run to count.
type profile struct {
	long    time.Duration
	clients int
	// quota is that of the organizations that have little.
	quota int
	// attempts are those of clients, and struck how many faults of a name.
	attempts int
	struck   map[string]int
	// sometimes has to have happened at least once.
	sometimes []string
}

func profiles() map[string]profile {
	sometimes := []string{
		"0 ", "201 ", "replayed", "409 idempotency_key_in_progress", "422 idempotency_key_reused", "429 quota_exceeded",
		"unknown and started", "unknown and not started", "charged", "used again after the expiry", "told again",
		"kept out", "validator asked again", "503 unavailable", "503 outcome_unknown", "SQLSTATE 57P01",
		"run taken over", "run swept",
	}
	return map[string]profile{
		"short": {
			long: 100 * time.Second, clients: 40, quota: 60, attempts: 1500, sometimes: sometimes,
			struck: map[string]int{"kill": 15, "freeze": 2, "crash of PostgreSQL": 1, "Redis": 1, "network": 3},
		},
		"long": {
			long: time.Hour, clients: 60, quota: 2000, attempts: 150_000,
			sometimes: append(sometimes, "begun", "SQLSTATE 55P03", "SQLSTATE 25P03"),
			struck: map[string]int{
				"kill": 700, "freeze": 100, "crash of PostgreSQL": 80, "Redis": 80, "network": 150, "commits": 60,
			},
		},
	}
}

// TestRandom is what `make chaos` runs.
func TestRandom(t *testing.T) { //nolint:paralleltest // It takes the whole machine.
	p, ok := profiles()[*profileFlag]
	if !ok {
		t.Fatalf("profile = %q, want short or long", *profileFlag)
	}
	seed := *seedFlag
	if seed == 0 {
		seed = 1 + rand.Uint64N(1<<32)
	}
	t.Logf("make chaos PROFILE=%s SEED=%d", *profileFlag, seed)
	s := newStage(t, p.quota)
	crowd := s.newCrowd(t)
	ctx, giveUp := context.WithCancel(t.Context())
	defer giveUp()
	crowd.start(ctx, seed, p.clients)
	n := newNemesis(s, seed, p.long)
	n.run(t, p.long)
	s.heal(t)
	close(crowd.stop)
	// Who is still at it has this long to get a definite answer.
	patience := time.AfterFunc(time.Minute, giveUp)
	crowd.open.Wait()
	patience.Stop()
	crowd.history.http.CloseIdleConnections()
	program.AwaitRest(t, s.DB)
	tried := &trial{
		stage: s, facts: s.learn(t), attempts: crowd.history.all(), nemesis: n, crowd: crowd,
		broken: make(map[string][]string), counts: maps.Clone(crowd.acts),
	}
	tried.judge(t)
	tried.report(t)
	tried.reject(t, p)
}

// report says what happened, and tells of what was broken with everything that is known of the key.
func (t *trial) report(tb testing.TB) {
	tb.Helper()
	t.counts["run taken over"] = program.Count(tb, t.DB, "SELECT count(*) FROM validation_runs WHERE attempts > 1")
	t.counts["run swept"] = program.Count(tb, t.DB, "SELECT count(*) FROM validation_runs WHERE sweeps > 0")
	t.counts["runs"] = len(t.runs)
	t.counts["commits with errors"] = int(t.nemesis.commits.Load())
	planned := t.nemesis.events()
	struck := make(map[string]int)
	for _, e := range planned {
		if e.happened {
			struck[e.name]++
		}
	}
	tb.Logf("%d requests under %d keys\n%d faults planned, struck: %v\ncounts: %v", len(t.attempts), len(t.byKey),
		len(planned), struck, t.counts)
	told := 0
	for _, name := range slices.Sorted(maps.Keys(t.broken)) {
		tb.Errorf("broken: key %s:\n  %s", name, strings.Join(t.broken[name], "\n  "))
		told++
		if name != "" && told <= mostTimelines {
			tb.Log(t.timeline(tb, name))
		}
	}
}

// timeline is everything that is known of a key, in its order.
func (t *trial) timeline(tb testing.TB, name string) string {
	tb.Helper()
	var moments []*moment
	all := t.byKey[name]
	if len(all) > 0 {
		moments = t.journalOf(tb, t.orgs[all[0].org].ID, all[0].key)
	}
	requests := make(map[string]bool)
	for _, a := range all {
		requests[a.id] = true
		moments = append(moments, &moment{a.call, "sent " + a.id}, &moment{a.end, "answered " + a.String()})
	}
	moments = append(moments, t.logOf(requests)...)
	if len(moments) == 0 {
		return ""
	}
	earlier := func(a, b *moment) int { return a.At.Compare(b.At) }
	first, last := slices.MinFunc(moments, earlier).At, slices.MaxFunc(moments, earlier).At
	for _, e := range t.nemesis.events() {
		if e.began.Before(last.Add(lease)) && e.ended.After(first.Add(-lease)) {
			moments = append(moments, &moment{e.began, e.String()})
		}
	}
	slices.SortStableFunc(moments, earlier)
	lines := []string{"timeline of key " + name}
	for _, m := range moments {
		lines = append(lines, m.At.UTC().Format(clock)+" "+m.Text)
	}
	return strings.Join(lines, "\n")
}

// reject fails a run in which too little happened to show anything.
func (t *trial) reject(tb testing.TB, p profile) {
	tb.Helper()
	var lacks []string
	if n := len(t.attempts); n < p.attempts {
		lacks = append(lacks, fmt.Sprintf("requests = %d, want %d", n, p.attempts))
	}
	planned, happened := 0, 0
	struck := make(map[string]int)
	for _, e := range t.nemesis.events() {
		planned++
		if !e.happened {
			continue
		}
		happened++
		for name := range p.struck {
			if strings.Contains(e.name, name) {
				struck[name]++
			}
		}
	}
	if 100*happened < 85*planned {
		lacks = append(lacks, fmt.Sprintf("faults = %d of %d planned", happened, planned))
	}
	for name, least := range p.struck {
		if struck[name] < least {
			lacks = append(lacks, fmt.Sprintf("faults with %q = %d, want %d", name, struck[name], least))
		}
	}
	for _, name := range p.sometimes {
		if t.counts[name] == 0 {
			lacks = append(lacks, "never: "+name)
		}
	}
	if len(lacks) > 0 {
		slices.Sort(lacks)
		tb.Errorf("rejected, as too little happened:\n  %s", strings.Join(lacks, "\n  "))
	}
}
