package crash

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/core/coretest/billing"
	"github.com/simplevalidations/simplevalidations/core/coretest/pgproxy"
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
	if where.name == call {
		s.strikeCall(effect)
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
		return effect
	})
}

// strikeCall does to the first call to the billing service what would be done to a commit.
func (s *stage) strikeCall(effect pgproxy.Fault) {
	switch {
	case effect.Lose:
		s.billing.Script(billing.DropBefore)
	case effect.Swallow:
		s.billing.Script(billing.DropAfter)
	}
	received, acted := once(effect.Before), once(effect.After)
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

// effect is what the fault does. It says when it has struck.
func (s *stage) effect(tb testing.TB, f fault) pgproxy.Fault {
	tb.Helper()
	struck := func() { close(s.struck) }
	kill := func() { s.kill(); struck() }
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
		return pgproxy.Fault{Before: func() { s.freeze(tb); struck(); <-s.released }}
	case freezeAfter:
		return pgproxy.Fault{After: func() { s.freeze(tb); struck() }}
	case stall:
		return pgproxy.Fault{After: func() { struck(); <-s.released }}
	case hangUp:
		// The answer waits until the server can have noticed that there is nobody to pass it on to.
		return pgproxy.Fault{After: func() { s.hangUp(); <-time.After(turns); struck() }}
	default: // loseRedis
		return pgproxy.Fault{After: func() { s.flushRedis(tb); struck() }}
	}
}

// once makes a hook that works the first time, and does not hold up anybody who comes later. There may be none.
func once(hook func()) func() {
	var done atomic.Bool
	return func() {
		if hook != nil && done.CompareAndSwap(false, true) {
			hook()
		}
	}
}
