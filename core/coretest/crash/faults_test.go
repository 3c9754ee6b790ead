package crash

import (
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/core/coretest/outside"
	"github.com/simplevalidations/simplevalidations/core/coretest/pgproxy"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

// fault is what happens at a boundary.
type fault string

const (
	// The connection breaks, and what was sent over it does not arrive, or its answer does not.
	dropBefore fault = "drop-before"
	dropAfter  fault = "drop-after"
	// The server fails while it commits. The client is told, and the session ends. A pooler that loses its server says
	// the same in other words.
	panicBefore fault = "panic-before"
	panicAfter  fault = "panic-after"
	fatalBefore fault = "fatal-before"
	fatalAfter  fault = "fatal-after"
	// The server refuses the commit for certain, because of others that work beside it.
	refuse fault = "refuse"
	// The process dies.
	killBefore fault = "kill-before"
	killAfter  fault = "kill-after"
	// The process is stopped until others have had all the time to go on without it. Before means that what it has
	// sent is under way for as long.
	freezeBefore fault = "freeze-before"
	freezeAfter  fault = "freeze-after"
	// The answer takes long, and the process keeps what it holds.
	stall fault = "stall"
	// The client goes away.
	hangUp fault = "hang-up"
	// Redis forgets everything.
	loseRedis fault = "lose-redis"
)

// faultsOf are the faults that can strike a process at a boundary.
func faultsOf(p part, where at) []fault {
	found := []fault{dropBefore, dropAfter, killBefore, killAfter, freezeBefore, freezeAfter, stall, loseRedis}
	if p == web {
		found = append(found, hangUp)
	}
	if where.isCommit() {
		found = append(found, toldFaults()...)
		found = append(found, refuse)
	}
	return found
}

// toldFaults are those of which the database tells itself, and after which nobody knows whether it has committed.
func toldFaults() []fault { return []fault{panicBefore, panicAfter, fatalBefore, fatalAfter} }

// isTold reports whether the client gets an answer at once, while the process lives and nothing is held up.
func (f fault) isTold() bool {
	return slices.Contains(append(toldFaults(), dropBefore, dropAfter, refuse), f)
}

// commits reports whether what the fault strikes has been committed nevertheless.
func (f fault) commits() bool { return f == dropAfter || f == panicAfter || f == fatalAfter }

// at is a boundary of a flow: the nth of those with this name.
type at struct {
	name string
	nth  int
	// empty tells that the commit changes nothing.
	empty bool
	// ownKey tells that a request without a key has got one of the service by then.
	ownKey bool
}

// isCommit tells commits from calls to other services.
func (w at) isCommit() bool {
	return w.name != callBilling && w.name != callValidator && w.name != callReceiver && w.name != callStore
}

// strike makes the fault strike once, at the boundary.
func (s *stage) strike(tb testing.TB, where at, f fault) {
	tb.Helper()
	effect := s.effect(tb, f)
	switch where.name {
	case callBilling:
		strikeCall(s.billing.Plan, effect)
		return
	case callValidator:
		strikeCall(s.validator.Plan, effect)
		return
	case callReceiver:
		strikeCall(s.receiver.Plan, effect)
		return
	case callStore:
		strikeCall(s.store.Plan, effect)
		return
	}
	if s.flow.shared {
		s.proxy.Watch(s.together(tb, map[string]pgproxy.Fault{where.name: effect}))
		return
	}
	s.strikeWith(where, effect)
}

// strikeWith makes an effect strike once, at a commit.
func (s *stage) strikeWith(where at, effect pgproxy.Fault) {
	seen := 0
	s.proxy.Watch(func(commit pgproxy.Commit) pgproxy.Fault {
		s.mu.Lock()
		defer s.mu.Unlock()
		if commit.String() != where.name {
			return pgproxy.Fault{}
		}
		seen++
		if seen != where.nth {
			return pgproxy.Fault{}
		}
		s.members, s.backend = commit.Members, commit.Backend
		return effect
	})
}

// together strikes, for each name, the first commit that several runs share. There is one because the first commit that
// a run has for itself is held up until then, and those who come meanwhile form a group.
func (s *stage) together(tb testing.TB, effects map[string]pgproxy.Fault) pgproxy.Judge {
	tb.Helper()
	boundaries := make(map[string]func(members int) pgproxy.Fault)
	for name, effect := range effects {
		boundaries[name] = s.atSharedCommit(tb, effect)
	}
	return func(commit pgproxy.Commit) pgproxy.Fault {
		judge, known := boundaries[commit.String()]
		if !known {
			return pgproxy.Fault{}
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		return judge(commit.Members)
	}
}

// atSharedCommit judges the commits of one name for together. The one that was held up is through before the other is
// struck.
func (s *stage) atSharedCommit(tb testing.TB, effect pgproxy.Fault) func(members int) pgproxy.Fault {
	tb.Helper()
	holding, struck := false, false
	shared, through := make(chan struct{}), make(chan struct{})
	return func(members int) pgproxy.Fault {
		switch {
		case struck:
			return pgproxy.Fault{}
		case members > 1:
			struck = true
			close(shared)
			if !holding {
				return effect
			}
			before := effect.Before
			effect.Before = func() {
				if program.Hold(tb, through) && before != nil {
					before()
				}
			}
			return effect
		case !holding:
			holding = true
			return pgproxy.Fault{Before: func() { program.Hold(tb, shared) }, After: func() { close(through) }}
		default:
			return pgproxy.Fault{}
		}
	}
}

// strikeCall does to the first call to a service what would be done to a commit.
func strikeCall[C any](service *outside.Plan[C], effect pgproxy.Fault) {
	received, acted := hooks(effect)
	service.Watch(func(now outside.Moment, _ C) {
		switch now {
		case outside.Received:
			received()
		case outside.Acted:
			acted()
		case outside.Answered:
		}
	})
}

// hooks are what happens when a service has received a call and when it has acted, the first time. It breaks the
// connection off in the way that handlers have for that.
func hooks(effect pgproxy.Fault) (func(), func()) {
	received := once(func() {
		if effect.Before != nil {
			effect.Before()
		}
		if effect.Lose {
			panic(http.ErrAbortHandler)
		}
	})
	acted := once(func() {
		if effect.After != nil {
			effect.After()
		}
		if effect.Swallow {
			panic(http.ErrAbortHandler)
		}
	})
	return received, acted
}

// effect is what the fault does. It says when it has struck.
func (s *stage) effect(tb testing.TB, f fault) pgproxy.Fault {
	tb.Helper()
	struck := func() { close(s.struck) }
	kill := func() { s.kill(tb); struck() }
	switch told := f.told(); {
	case told.Severity == "":
	case f.commits():
		return pgproxy.Fault{After: struck, Error: told}
	default:
		return pgproxy.Fault{Before: struck, Error: told, Lose: true}
	}
	switch f {
	case dropBefore:
		return pgproxy.Fault{Before: struck, Lose: true}
	case dropAfter:
		return pgproxy.Fault{After: struck, Swallow: true}
	case killBefore:
		return pgproxy.Fault{Before: kill, Lose: true}
	case killAfter:
		return pgproxy.Fault{After: kill, Swallow: true}
	case freezeBefore:
		return pgproxy.Fault{Before: func() { s.freeze(tb); struck(); program.Hold(tb, s.released) }}
	case freezeAfter:
		return pgproxy.Fault{After: func() { s.freeze(tb); struck() }}
	case stall:
		return pgproxy.Fault{After: func() { struck(); program.Hold(tb, s.released) }}
	case hangUp:
		// The answer waits until the server can have noticed that there is nobody to pass it on to.
		return pgproxy.Fault{After: func() { s.hangUp(); <-time.After(turns); struck() }}
	default: // loseRedis
		return pgproxy.Fault{After: func() { s.flushRedis(tb); struck() }}
	}
}

// told is what the database answers about the fault, if it answers at all.
func (f fault) told() pgproxy.Error {
	switch f {
	case panicBefore:
		return pgproxy.Error{Severity: "PANIC", Code: "58030"}
	case panicAfter:
		return pgproxy.Error{Severity: "PANIC", Code: "53100"}
	case fatalBefore:
		return pgproxy.Error{Severity: "FATAL", Code: "57P01"}
	case fatalAfter:
		return pgproxy.Error{Severity: "FATAL", Code: "58000"}
	case refuse:
		return pgproxy.Error{Severity: "ERROR", Code: "40001"}
	default:
		return pgproxy.Error{}
	}
}

// once makes a hook that works the first time, and does not hold up later callers.
func once(hook func()) func() {
	var done atomic.Bool
	return func() {
		if done.CompareAndSwap(false, true) {
			hook()
		}
	}
}
