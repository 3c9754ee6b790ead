package outside

import (
	"net/http"
	"slices"
	"sync"
)

// Behavior is what a service does with one attempt of a call.
type Behavior string

// The behaviors: the good answers of the two services, and then what goes wrong in either. Where they act first, the
// caller cannot know it.
const (
	Accept  Behavior = "accept"
	Decline Behavior = "decline"
	Pass    Behavior = "pass"
	Fail    Behavior = "find an error"
	Promise Behavior = "act, then promise a later answer"
	Hasty   Behavior = "act, then send the callback before the promise"

	FailBefore Behavior = "fail before acting"
	DropBefore Behavior = "drop the connection before acting"
	Redirect   Behavior = "redirect before acting"
	Busy       Behavior = "be too busy, without acting"
	Refuse     Behavior = "refuse the call"
	FailAfter  Behavior = "act, then fail"
	DropAfter  Behavior = "act, then drop the connection"
	Hang       Behavior = "act, then never answer"
	Truncate   Behavior = "act, then break off the answer"
	Babble     Behavior = "act, then answer with what is no HTTP"
	Garbage    Behavior = "act, then answer with what is no JSON"
	Drip       Behavior = "act, then answer byte by byte"
	Huge       Behavior = "act, then answer with a gibibyte"
	Compress   Behavior = "act, then answer compressed"
	Contradict Behavior = "act, then answer otherwise than before"
)

// Moment is a point in the handling of a call.
type Moment string

// The moments of a call. A service acts once for all calls with the same key.
const (
	Received Moment = "received"
	Acted    Moment = "acted"
	Answered Moment = "answered"
)

// Plan says what a service does with its calls, and counts them. C is what the service knows of a call.
type Plan[C any] struct {
	mu       sync.Mutex // guards all below
	script   []Behavior
	usual    Behavior
	hook     func(Moment, C)
	attempts int
	refused  int
}

// NewPlan makes a Plan of a service that usually does the same.
func NewPlan[C any](usual Behavior) *Plan[C] {
	return &Plan[C]{usual: usual, hook: func(Moment, C) {}}
}

// Script says what happens to the next calls, one behavior each. After them everything is as usual.
func (p *Plan[C]) Script(behaviors ...Behavior) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.script = slices.Clone(behaviors)
}

// Usually says what happens to calls that nothing else is scripted for.
func (p *Plan[C]) Usually(behavior Behavior) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.usual = behavior
}

// Watch has the hook called at every moment of every call. While it does not return the call hangs.
func (p *Plan[C]) Watch(hook func(Moment, C)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hook = hook
}

// Attempts is how many calls with a good signature were received, repetitions included.
func (p *Plan[C]) Attempts() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.attempts
}

// Refused is how many calls were refused because of their signature, their key or their body.
func (p *Plan[C]) Refused() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.refused
}

// Next takes the behavior for a call with a good signature, and the hook for its moments.
func (p *Plan[C]) Next() (Behavior, func(Moment, C)) {
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
func (p *Plan[C]) Refuse(w http.ResponseWriter, status int, reason error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refused++
	http.Error(w, reason.Error(), status)
}
