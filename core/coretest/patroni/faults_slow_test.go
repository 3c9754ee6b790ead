//go:build slow

package patroni

import (
	"cmp"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

var rounds = flag.Int("rounds", 1, "how often each fault happens")

// quick asks Patroni, which may have vanished.
var quick = &http.Client{Timeout: 2 * time.Second}

// before is how many keys are answered before a fault, and after how many more have to be.
const before, after = 100, 100

// fault is what happens to the leader. It returns what heals it, which may be nothing.
type fault struct {
	name   string
	strike func(tb testing.TB, c *cluster, leader *machine) func()
	// harmless faults leave the leader what it is; after all others another machine leads.
	harmless bool
}

func faults() []fault {
	return []fault{
		{name: "PostgreSQL crashes", strike: func(tb testing.TB, _ *cluster, m *machine) func() {
			tb.Helper()
			m.crash(tb)
			return func() {}
		}},
		{name: "Patroni is killed", strike: func(tb testing.TB, _ *cluster, m *machine) func() {
			tb.Helper()
			m.patroni.Kill()
			return func() { m.startPatroni(tb) }
		}},
		{name: "etcd is killed", harmless: true, strike: func(tb testing.TB, _ *cluster, m *machine) func() {
			tb.Helper()
			m.etcd.Kill()
			return func() { m.startEtcd(tb) }
		}},
		{name: "the machine is lost", strike: func(tb testing.TB, _ *cluster, m *machine) func() {
			tb.Helper()
			m.lose(tb)
			return func() { m.start(tb) }
		}},
		{name: "cut off from all", strike: func(tb testing.TB, _ *cluster, m *machine) func() {
			tb.Helper()
			m.cut(tb)
			return func() { m.mend(tb) }
		}},
		{name: "cut off from the others, not from clients", strike: func(tb testing.TB, c *cluster, m *machine) func() {
			tb.Helper()
			c.route(tb, m, "add")
			return func() { c.route(tb, m, "delete") }
		}},
		{name: "two machines one after the other", strike: loseTwo},
		{name: "planned switchover", strike: func(tb testing.TB, c *cluster, m *machine) func() {
			tb.Helper()
			c.switchOver(tb, m)
			return func() {}
		}},
	}
}

// loseTwo loses the leader, and its successor once that has a synchronous standby. The one that is left has no
// majority, so nothing can start until the first is back.
func loseTwo(tb testing.TB, c *cluster, first *machine) func() {
	tb.Helper()
	first.lose(tb)
	second := c.successor(tb, first)
	program.Await(tb, "the successor has a synchronous standby", func() bool {
		return c.with(tb.Context(), "sync_standby", first) != nil
	})
	second.lose(tb)
	first.start(tb)
	return func() { second.start(tb) }
}

// successor waits until another machine leads.
func (c *cluster) successor(tb testing.TB, former *machine) *machine {
	tb.Helper()
	var found *machine
	program.Await(tb, "another machine leads", func() bool {
		found = c.with(tb.Context(), "leader", former)
		return found != nil && found != former
	})
	return found
}

// route makes the others unreachable from a machine, or reachable again.
func (c *cluster) route(tb testing.TB, from *machine, verb string) {
	tb.Helper()
	for _, m := range c.machines {
		if m != from {
			run(tb, "ip", "-n", from.netns(), "route", verb, "blackhole", m.address)
		}
	}
}

// switchOver has Patroni make the synchronous standby the leader.
func (c *cluster) switchOver(tb testing.TB, from *machine) {
	tb.Helper()
	if status := from.post(tb, "switchover", map[string]any{"leader": from.name}); status != http.StatusOK {
		tb.Fatalf("switchover: status %d", status)
	}
}

// seen is what clients saw of a fault.
type seen struct {
	fault            string
	pause            time.Duration
	refused, unheard int64
	// anew is how many machines did not come back by themselves.
	anew int
}

// TestFaults loses nothing that was answered, whatever happens to the leader and whichever way leads to it, and makes
// no run twice. All machines take part again afterwards.
func TestFaults(t *testing.T) { //nolint:paralleltest // Its networks have names, and it measures.
	c := startCluster(t)
	for way, addresses := range c.ways(t) { //nolint:paralleltest // as above
		t.Run(way, func(t *testing.T) {
			var all []seen
			for round := range *rounds {
				for number, one := range faults() {
					if !t.Run(one.name, func(t *testing.T) {
						all = append(all, c.try(t, one, addresses(fmt.Sprintf("%s_%d_%d", way, round, number))))
					}) {
						t.FailNow()
					}
				}
			}
			t.Log(table(all))
		})
	}
}

// ways are the ways to the leader: the settings for a database of a name.
func (c *cluster) ways(tb testing.TB) map[string]func(name string) []string {
	tb.Helper()
	address := func(host, name string) string {
		return (&url.URL{
			Scheme: "postgres", User: url.User("postgres"), Host: host, Path: "/" + name, RawQuery: "sslmode=disable",
		}).String()
	}
	pooled, err := url.Parse(program.PgBouncer(tb, address(c.haproxy, "postgres")))
	if err != nil {
		tb.Fatal(err)
	}
	return map[string]func(name string) []string{
		"haproxy": func(name string) []string { return []string{"DATABASE_URL=" + address(c.haproxy, name)} },
		"pgbouncer": func(name string) []string {
			return []string{
				"DATABASE_URL=" + address(pooled.Host, name), "DATABASE_DIRECT_URL=" + address(c.haproxy, name),
			}
		},
	}
}

// try lets a fault happen under load and heals it.
func (c *cluster) try(tb testing.TB, f fault, settings []string) seen {
	tb.Helper()
	direct := settings[len(settings)-1]
	direct = direct[strings.Index(direct, "=")+1:]
	c.createDatabase(tb, direct)
	i := program.InstallOn(tb, direct, coretest.Redis(tb), settings...)
	servers := []*program.Server{program.Serve(tb, i.Settings), program.Serve(tb, i.Settings)}
	var turn atomic.Int64
	l := program.StartLoad(tb, i.Harbour.Tokens.Executor, func() string {
		return servers[int(turn.Add(1))%len(servers)].URL()
	})
	l.AwaitProgress(tb, before)
	leader := c.leader(tb)
	heal := f.strike(tb, c, leader)
	if !f.harmless {
		c.successor(tb, leader)
	}
	l.AwaitProgress(tb, after)
	heal()
	anew := c.awaitWhole(tb)
	l.AwaitProgress(tb, after)
	l.Finish(tb)
	program.CheckAtRest(tb, i.DB)
	l.History.Check(tb, i.DB, i.Harbour.ID)
	for _, s := range servers {
		s.Kill()
	}
	return seen{f.name, l.Pause(), l.Refused.Load(), l.Unheard.Load(), anew}
}

// createDatabase makes the database that an address names.
func (c *cluster) createDatabase(tb testing.TB, address string) {
	tb.Helper()
	found, err := url.Parse(address)
	if err != nil {
		tb.Fatal(err)
	}
	name := strings.TrimPrefix(found.Path, "/")
	found.Path = "/postgres"
	coretest.Prepare(tb, found.String(), "CREATE DATABASE "+name)
}

// table lists the faults with what clients saw in all rounds: the pauses from the shortest to the longest, with the
// median.
func table(all []seen) string {
	byFault := map[string][]seen{}
	for _, one := range all {
		byFault[one.fault] = append(byFault[one.fault], one)
	}
	var text strings.Builder
	text.WriteString("\n| Fault | Rounds | Longest time without a start: least, median, most | Answered 409 or 503 " +
		"| Not answered | Machines made anew |\n")
	text.WriteString("| --- | --- | --- | --- | --- | --- |\n")
	for _, f := range faults() {
		rounds := byFault[f.name]
		if len(rounds) == 0 {
			continue
		}
		slices.SortFunc(rounds, func(a, b seen) int { return cmp.Compare(a.pause, b.pause) })
		var refused, unheard int64
		anew := 0
		for _, one := range rounds {
			refused, unheard = refused+one.refused, unheard+one.unheard
			anew += one.anew
		}
		fmt.Fprintf(&text, "| %s | %d | %.1f, %.1f, %.1f s | %d | %d | %d |\n", f.name, len(rounds),
			rounds[0].pause.Seconds(), rounds[len(rounds)/2].pause.Seconds(), rounds[len(rounds)-1].pause.Seconds(),
			refused, unheard, anew)
	}
	return text.String()
}

// run runs a command that has to succeed, and returns its output.
func run(tb testing.TB, name string, args ...string) string {
	tb.Helper()
	output, err := exec.Command(program.Find(tb, name), args...).CombinedOutput()
	if err != nil {
		tb.Fatalf("%s %s: %v: %s", name, strings.Join(args, " "), err, output)
	}
	return string(output)
}
