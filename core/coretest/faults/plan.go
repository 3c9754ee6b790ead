// Package faults plans what the external services of tests do with their calls, so that they fail where a test says.
package faults

import (
	"net/http"
	"slices"
	"sync"
)

// Moment is a point in the handling of a call.
type Moment string

// The moments of a call. A service acts once for all calls with the same key.
const (
	Received Moment = "received"
	Acted    Moment = "acted"
	Answered Moment = "answered"
)

// Plan says what a service does with its calls, and counts them. B are the behaviors of the service, and C is what it
// knows of a call.
type Plan[B ~string, C any] struct {
	mu       sync.Mutex // guards all below
	script   []B
	usual    B
	hook     func(Moment, C)
	attempts int
	refused  int
}

// NewPlan makes a Plan of a service that usually does the same.
func NewPlan[B ~string, C any](usual B) *Plan[B, C] {
	return &Plan[B, C]{usual: usual, hook: func(Moment, C) {}}
}

// Script says what happens to the next calls, one behavior each. After them everything is as usual.
func (p *Plan[B, C]) Script(behaviors ...B) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.script = slices.Clone(behaviors)
}

// Usually says what happens to calls that nothing else is scripted for.
func (p *Plan[B, C]) Usually(behavior B) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.usual = behavior
}

// Watch has the hook called at every moment of every call. While it does not return the call hangs.
func (p *Plan[B, C]) Watch(hook func(Moment, C)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hook = hook
}

// Attempts is how many calls with a good signature were received, repetitions included.
func (p *Plan[B, C]) Attempts() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.attempts
}

// Refused is how many calls were refused because of their signature, their key or their body.
func (p *Plan[B, C]) Refused() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.refused
}

// Next takes the behavior for a call with a good signature, and the hook for its moments.
func (p *Plan[B, C]) Next() (B, func(Moment, C)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.attempts++
	behavior := p.usual
	if len(p.script) > 0 {
		behavior, p.script = p.script[0], p.script[1:]
	}
	return behavior, p.hook
}

// Refuse answers a call that the service does not take.
func (p *Plan[B, C]) Refuse(w http.ResponseWriter, status int, reason error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refused++
	http.Error(w, reason.Error(), status)
}
