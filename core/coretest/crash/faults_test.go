package crash

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/core/coretest/billing"
	"github.com/simplevalidations/simplevalidations/core/coretest/pgproxy"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
	"github.com/simplevalidations/simplevalidations/core/coretest/validator"
)

// fault is what happens at a boundary.
type fault string

const (
	// The connection breaks, and what was sent over it does not arrive, or its answer does not.
	dropBefore fault = "drop-before"
	dropAfter  fault = "drop-after"
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

func faultsOf(p part) []fault {
	faults := []fault{dropBefore, dropAfter, killBefore, killAfter, freezeBefore, freezeAfter, stall, loseRedis}
	if p == web {
		faults = append(faults, hangUp)
	}
	return faults
}

// at is a boundary of a flow: the nth of those with this name.
type at struct {
	name string
	nth  int
}

// strike makes the fault strike once, at the boundary.
func (s *stage) strike(tb testing.TB, where at, f fault) {
	tb.Helper()
	effect := s.effect(tb, f)
	switch where.name {
	case callBilling:
		s.strikeBilling(effect)
		return
	case callValidator:
		s.strikeValidator(effect)
		return
	}
	if s.flow.shared {
		s.proxy.Watch(s.together(tb, map[string]pgproxy.Fault{where.name: effect}))
		return
	}
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
		s.members = commit.Members
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

// strikeBilling does to the first call to the billing service what would be done to a commit.
func (s *stage) strikeBilling(effect pgproxy.Fault) {
	received, acted := hooks(effect)
	s.billing.Watch(func(now billing.Moment) {
		switch now {
		case billing.Received:
			received()
		case billing.Acted:
			acted()
		case billing.Answered:
		}
	})
}

// strikeValidator does the same to the first call to the external validator.
func (s *stage) strikeValidator(effect pgproxy.Fault) {
	received, acted := hooks(effect)
	s.validator.Watch(func(now validator.Moment, _ validator.Request) {
		switch now {
		case validator.Received:
			received()
		case validator.Acted:
			acted()
		case validator.Answered:
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

// once makes a hook that works the first time, and does not hold up anybody who comes later.
func once(hook func()) func() {
	var done atomic.Bool
	return func() {
		if done.CompareAndSwap(false, true) {
			hook()
		}
	}
}
