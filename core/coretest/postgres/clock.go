package postgres

import (
	"slices"
	"sync"
	"time"
)

// clock is how far the servers' clock was moved, and when.
type clock struct {
	mu    sync.Mutex // guards what follows
	steps []step
}

// step is a change of the clock.
type step struct {
	at    time.Time
	ahead time.Duration
	// back is by how much it was set back, if it was.
	back time.Duration
}

func (c *clock) note(s step) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.steps = append(c.steps, s)
}

// Real is a time of the servers by the clock of the test. One that they have skipped is that of the step.
func (c *clock) Real(there time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	ahead := time.Duration(0)
	for _, s := range c.steps {
		if here := there.Add(-ahead); !here.After(s.at) {
			return here
		}
		if here := there.Add(-s.ahead); here.Before(s.at) {
			return s.at
		}
		ahead = s.ahead
	}
	return there.Add(-ahead)
}

// Slack is how far a translated time may be wrong: as far as the clock was set back, at once or by steps that followed
// each other before it had made up for them.
func (c *clock) Slack() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	slack, ahead := time.Duration(0), time.Duration(0)
	for i, first := range c.steps {
		for _, last := range c.steps[i:] {
			if fall := ahead - last.ahead; last.at.Sub(first.at) < fall {
				slack = max(slack, fall)
			}
		}
		ahead = first.ahead
	}
	return slack
}

// MovedOn reports whether the clock was moved on between two times.
func (c *clock) MovedOn(from, to time.Time) bool {
	return c.moved(from, to, func(s step) bool { return s.back == 0 })
}

// WentBack reports whether the clock was set back between two times.
func (c *clock) WentBack(from, to time.Time) bool {
	return c.moved(from, to, func(s step) bool { return s.back > 0 })
}

func (c *clock) moved(from, to time.Time, so func(step) bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(c.steps, func(s step) bool { return so(s) && !s.at.Before(from) && !s.at.After(to) })
}
