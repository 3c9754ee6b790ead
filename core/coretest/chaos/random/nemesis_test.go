package random

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// event is one fault, as it was drawn and as it went.
type event struct {
	*fault

	// id is the letter of its lane and its number in it.
	id string

	// host is where it strikes, if it strikes one, and dice what else is left to chance.
	host, dice int
	hold, rest time.Duration

	began, ended time.Time
	// happened says that the fault really struck.
	happened bool
}

// String is the event as a line of a timeline.
func (e *event) String() string {
	return fmt.Sprintf("nemesis: %s %s, host %d, dice %d, for %s, struck %t",
		e.id, e.name, e.host, e.dice, e.ended.Sub(e.began).Round(time.Millisecond), e.happened)
}

// fault is a way in which something goes wrong.
type fault struct {
	name   string
	weight int
	// least and most bound for how long it holds.
	least, most time.Duration
	strike      strike
}

// strike makes a fault, and returns what heals it.
type strike func(n *nemesis, tb testing.TB, e *event) func()

// nemesis makes faults: in one lane those of the processes and in another one those of everything around them, so that
// two overlap.
type nemesis struct {
	*stage

	crowd *crowd
	lanes [2][]*event
	// processes is held while the processes change.
	processes sync.Mutex
	// commits counts the errors that were made of commits.
	commits atomic.Int64
}

// newNemesis draws the faults for so long, of which those that are not kept are times of rest.
func newNemesis(c *crowd, seed uint64, kept units) *nemesis {
	n := &nemesis{stage: c.stage, crowd: c}
	for lane, faults := range [][]*fault{n.processFaults(), n.otherFaults()} {
		dice := rand.New(rand.NewPCG(seed, uint64(1000+lane)))
		total := 0
		for _, f := range faults {
			total += f.weight
		}
		for at := time.Duration(0); at < n.profile.long; {
			face := dice.IntN(total)
			chosen := slices.IndexFunc(faults, func(f *fault) bool { face -= f.weight; return face < 0 })
			f := faults[chosen]
			e := &event{
				fault: f, id: fmt.Sprint("po"[lane:lane+1], len(n.lanes[lane])),
				host: dice.IntN(3), dice: dice.IntN(1000),
				hold: f.least + time.Duration(dice.Int64N(int64(f.most-f.least))),
				rest: 200*time.Millisecond + time.Duration(dice.Int64N(int64(900*time.Millisecond))),
			}
			n.lanes[lane] = append(n.lanes[lane], e)
			at += e.hold + e.rest
		}
		for left := n.lanes[lane]; len(left) > 0 && !kept.has(left[len(left)-1].id); left = n.lanes[lane] {
			n.lanes[lane] = left[:len(left)-1]
		}
	}
	return n
}

// run makes the faults until the time is over, or the last that is kept has been healed.
func (n *nemesis) run(tb testing.TB, kept units) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), n.profile.long)
	defer cancel()
	var lanes sync.WaitGroup
	for _, lane := range n.lanes {
		lanes.Go(func() {
			for _, e := range lane {
				if !rest(ctx, e.rest) || !kept.has(e.id) && !rest(ctx, e.hold) {
					return
				}
				if kept.has(e.id) {
					n.make(tb, ctx, e)
				}
			}
		})
	}
	lanes.Wait()
}

// make makes a fault and heals it.
func (n *nemesis) make(tb testing.TB, ctx context.Context, e *event) { //nolint:revive // The order is that of tests.
	tb.Helper()
	e.began = time.Now()
	heal := e.strike(n, tb, e)
	rest(ctx, e.hold)
	heal()
	e.ended = time.Now()
	n.processes.Lock()
	defer n.processes.Unlock()
	n.revive(tb)
}

// rest reports false when the time was over before.
func rest(ctx context.Context, long time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(long):
		return true
	}
}

// events are those that have begun.
func (n *nemesis) events() []*event {
	begun := slices.DeleteFunc(slices.Concat(n.lanes[0], n.lanes[1]), func(e *event) bool { return e.ended.IsZero() })
	slices.SortFunc(begun, func(a, b *event) int { return a.began.Compare(b.began) })
	return begun
}

func (n *nemesis) target(e *event) *host { return n.hosts[e.host] }
