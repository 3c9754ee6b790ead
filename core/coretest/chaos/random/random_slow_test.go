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
	profileFlag = flag.String("profile", "short", "short, mixed or long")
	onlyFlag    = flag.String("only", "", "the faults and clients to keep, as a failure that was shrunk names them")
	repeatFlag  = flag.Int("repeat", 1, "how often to try, with seeds of their own where none is given")
	shrinkFlag  = flag.Int("shrink", 0, "how often to try each smaller schedule of one that fails")
)

// TestRandom is what `make chaos` runs.
func TestRandom(t *testing.T) { //nolint:paralleltest // It takes the whole machine.
	p, ok := profiles()[*profileFlag]
	if !ok {
		t.Fatalf("profile = %q, want short, mixed or long", *profileFlag)
	}
	seed := *seedFlag
	if *repeatFlag > 1 || *shrinkFlag > 0 {
		repeat(t, p, seed)
		return
	}
	if seed == 0 {
		seed = drawn()
	}
	only := ""
	if *onlyFlag != "" {
		only = " ONLY=" + *onlyFlag
	}
	t.Logf("make chaos PROFILE=%s SEED=%d%s", *profileFlag, seed, only)
	kept := unitsOf(*onlyFlag)
	s := newStage(t, p)
	crowd := s.newCrowd(t)
	ctx, giveUp := context.WithCancel(t.Context())
	defer giveUp()
	crowd.start(ctx, seed, kept)
	n := newNemesis(crowd, seed, kept)
	n.run(t, kept)
	if !s.migrated {
		n.update(t)
	}
	s.heal(t)
	flooded := crowd.floodCalmly(t)
	close(crowd.stop)
	// Who is still at it has this long to get a definite answer.
	patience := time.AfterFunc(time.Minute, giveUp)
	crowd.open.Wait()
	patience.Stop()
	crowd.history.HTTP.CloseIdleConnections()
	program.AwaitRest(t, s.DB)
	tried := &trial{
		stage: s, facts: s.learn(t), attempts: crowd.history.All(), nemesis: n, crowd: crowd, flooded: flooded,
		broken: make(map[string][]string), counts: maps.Clone(crowd.acts),
	}
	defer func() { // Also where something is waited for in vain.
		tried.report(t)
		if kept == nil {
			tried.reject(t, p)
		}
	}()
	tried.judge(t)
}

func drawn() uint64 { return 1 + rand.Uint64N(1<<32) }

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
	tb.Logf("%d faults planned, struck: %v\ncounts: %v", len(planned), struck, t.counts)
	told := 0
	for _, name := range slices.Sorted(maps.Keys(t.broken)) {
		tb.Errorf("broken: key %s:\n  %s", name, strings.Join(t.broken[name], "\n  "))
		told++
		if name != "" && told <= mostTimelines {
			tb.Log(t.timeline(tb, name))
		}
	}
	tb.Log(t.total(struck))
}

// timeline is everything that is known of a key, in its order.
func (t *trial) timeline(tb testing.TB, name string) string {
	tb.Helper()
	var moments []*moment
	all := t.byKey[name]
	if len(all) > 0 {
		moments = t.journalOf(tb, t.orgs[all[0].Org].ID, all[0].Key)
	}
	requests := make(map[string]bool)
	for _, a := range all {
		requests[a.ID] = true
		moments = append(moments, &moment{a.Call, "sent " + a.ID}, &moment{a.End, "answered " + a.String()})
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
		lines = append(lines, m.At.UTC().Format(shownTime)+" "+m.Text)
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
