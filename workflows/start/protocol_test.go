package start

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/core/coretest"
)

// What the exploration may find.
const (
	twoRuns      = "a key has two runs"
	noRun        = "a key has an answer and no run"
	wrongCharge  = "the charges are not those of the runs"
	refusedAlone = "a request is refused for another one that is not there"
	nobodyStarts = "every request is refused for another one, and nothing is started"
	lockedOn     = "a key stays locked"
	stuck        = "a request is never answered"
	endless      = "requests go round in circles"
)

// TestEveryInterleaving explores every order in which the steps of starts of one key can come, with connections that
// are lost before the server knows it, and processes that freeze. It shows that the protocol keeps its promises as the
// steps describe it, for three requests, a retry of each, and the faults of its row. It does not show that PostgreSQL
// and the code take these steps: TestCommitRaces, TestLostStartsDoNotMeetThemselves, TestAFrozenSenderHoldsNothing and
// the chaos do. What follows a start is explored by the models of keys and of runs.
//
// The protocols that once were, or must never be, show that the exploration finds what it looks for.
func TestEveryInterleaving(t *testing.T) {
	t.Parallel()
	three := world{Losses: 1, Freezes: 1}
	// The third has been refused before.
	two := world{Losses: 1, Freezes: 1, Requests: [3]request{2: {At: refused}}}
	losses, expiry := two, two
	losses.Losses, expiry.Expiries = 4, 1
	for name, tt := range map[string]struct {
		protocol

		faults world
		want   []string
	}{
		"AsItIs":              {faults: three},
		"AsItIsOnBadNetworks": {faults: losses},
		// A key is looked at behind the claim that it has refused, and may have expired in between. A retry starts.
		"WhereAKeyExpires": {faults: expiry, want: []string{refusedAlone}},

		// As starts once were: a batch of which something was not granted was given up, and decided in two trips.
		"AsItWas": {
			protocol: protocol{keysFirst: true, twoTrips: true, triesAgain: true, repeatsLost: true}, faults: two,
			want: []string{refusedAlone, nobodyStarts, lockedOn},
		},
		"InTwoTrips": {protocol: protocol{twoTrips: true}, faults: three},
		"InTwoTripsThatTryLocksAgain": {
			protocol: protocol{twoTrips: true, triesAgain: true}, faults: two, want: []string{nobodyStarts},
		},
		"InTwoTripsThatAreRepeated": {
			protocol: protocol{twoTrips: true, repeatsLost: true}, faults: two, want: []string{refusedAlone},
		},

		"Repeated":      {protocol: protocol{repeatsLost: true}, faults: two, want: []string{refusedAlone}},
		"KeysFirst":     {protocol: protocol{keysFirst: true}, faults: two, want: []string{lockedOn}},
		"TakesLiveKeys": {protocol: protocol{takesLiveKeys: true}, faults: two, want: []string{twoRuns}},
		"KeepsKeys":     {protocol: protocol{keepsKeys: true}, faults: two, want: []string{noRun}},
		"ChargesApart":  {protocol: protocol{chargesApart: true}, faults: two, want: []string{wrongCharge}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := explorer{
				protocol: tt.protocol, faults: tt.faults,
				ways: make(map[state]float64), names: make(map[request]int16),
				found: make(map[string]string), taken: make(map[string]int),
				clients: clientSteps(), server: serverSteps(),
			}
			ways := 0.0
			for _, open := range []bool{false, true} {
				for _, room := range []bool{false, true} {
					begin := tt.faults
					begin.Open, begin.Room = open, room
					ways += e.explore(begin)
				}
			}
			t.Logf("%d states, %.3g interleavings, found %d", len(e.ways), ways, len(e.found))
			if diff := cmp.Diff(slices.Sorted(slices.Values(tt.want)), slices.Sorted(maps.Keys(e.found))); diff != "" {
				t.Errorf("found (-want +got):\n%s", diff)
				for what, path := range e.found {
					t.Logf("%s: %s", what, path)
				}
			}
			if name == "AsItIs" {
				e.wantSteps(t)
			}
		})
	}
}

// taken is a step of a request.
type taken struct {
	request int
	step    string
}

// explorer takes the steps of a protocol in every order.
type explorer struct {
	protocol

	clients, server []step
	// faults are those that may happen.
	faults world
	// now is the world that a step changes.
	now *world
	// ways counts the ways from each world to an end. It is 0 while they are counted.
	ways  map[state]float64
	names map[request]int16
	// path are the steps so far, found the first path to each finding, and taken how often each step was taken.
	path  []taken
	found map[string]string
	taken map[string]int
}

// explore takes every step that the world allows, and returns in how many ways it can end.
func (e *explorer) explore(before world) float64 {
	state := e.name(before)
	if ways, known := e.ways[state]; known {
		if ways == 0 {
			e.find(endless)
		}
		return ways
	}
	e.ways[state] = 0
	ways := 0.0
	for i := range before.Requests {
		for _, step := range e.clients {
			ways += e.take(before, i, step, func(r *request) *session { return &r.Now })
		}
		for _, step := range e.server {
			ways += e.take(before, i, step, func(r *request) *session { return &r.Now })
			ways += e.take(before, i, step, func(r *request) *session { return &r.Lost })
		}
	}
	if ways == 0 {
		ways = 1
		e.now = &before
		e.checkEnd()
	}
	e.ways[state] = ways
	return ways
}

// state is a world in which requests have names instead, in an order of their own: which is which does not matter.
type state struct {
	world

	requests [3]int16
}

func (e *explorer) name(w world) state {
	s := state{world: w}
	for i, r := range w.Requests {
		if _, known := e.names[r]; !known {
			e.names[r] = int16(len(e.names))
		}
		s.requests[i] = e.names[r]
	}
	slices.Sort(s.requests[:])
	s.Requests = [3]request{}
	return s
}

// take explores what comes behind a step of a request with one of its sessions, if the step can be taken.
func (e *explorer) take(before world, i int, step step, session func(r *request) *session) float64 {
	after := before
	e.now = &after
	e.path = append(e.path, taken{i, step.name})
	defer func() { e.path = e.path[:len(e.path)-1] }()
	if r := &after.Requests[i]; !step.take(e, r, session(r)) {
		return 0
	}
	e.taken[step.name]++
	return e.explore(after)
}

// checkEnd checks a world in which nothing can happen any more.
func (e *explorer) checkEnd() {
	inVain := e.now.Losses == e.faults.Losses && e.now.Freezes == e.faults.Freezes
	for _, r := range e.now.Requests {
		if r.At < frozen {
			e.find(stuck)
		}
		inVain = inVain && r.At == refused
	}
	if inVain {
		e.find(nobodyStarts)
	}
	if e.any(isLocked) {
		e.find(lockedOn)
	}
	if e.now.Answered && e.now.Runs == 0 {
		e.find(noRun)
	}
	if e.now.Charges != e.now.Runs {
		e.find(wrongCharge)
	}
}

func (e *explorer) find(what string) {
	if _, known := e.found[what]; !known {
		e.found[what] = fmt.Sprint(e.path)
	}
}

func isLocked(s session) bool   { return s.Lock }
func hasCounter(s session) bool { return s.Counter }

// any reports whether a session has something.
func (e *explorer) any(has func(session) bool) bool {
	return slices.ContainsFunc(e.now.Requests[:], func(r request) bool { return has(r.Now) || has(r.Lost) })
}

// wantSteps checks that every step was taken and is still there: a step whose function is renamed or gone has to be
// looked at again.
func (e *explorer) wantSteps(t *testing.T) {
	t.Helper()
	root, err := coretest.Root()
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range slices.Concat(e.clients, e.server) {
		if step.function == "" {
			continue
		}
		source, err := os.ReadFile(filepath.Join(root, step.file))
		if err != nil {
			t.Fatal(err)
		}
		if !regexp.MustCompile(`(?m)^func (\([^)]*\) )?` + step.function + `[(\[]`).Match(source) {
			t.Errorf("%s declares no function %s, which %q describes", step.file, step.function, step.name)
		}
		if e.taken[step.name] == 0 {
			t.Errorf("no request ever %q", step.name)
		}
	}
}
