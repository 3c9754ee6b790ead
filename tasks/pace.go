package tasks

import "time"

const (
	// aheadFor is how long a task may wait in the queue behind others: as many tasks as workers finish in that time are
	// handed over before there are slots for them, so that workers never wait for the enqueuer.
	aheadFor = 50 * time.Millisecond
	// paceOver is the least time that the pace is measured over.
	paceOver = 20 * time.Millisecond
	// paceLasts is how long the pace of the past counts beside that of now.
	paceLasts = time.Second
)

// pace measures how many tasks the workers finish.
type pace struct {
	finished  int64
	at        time.Time
	perSecond float64
}

// note records how many tasks the workers have finished so far.
func (p *pace) note(finished int64, now time.Time) {
	elapsed := now.Sub(p.at)
	switch {
	case p.at.IsZero() || finished < p.finished:
		// This is the first look, or Redis has lost its data.
		p.perSecond = 0
	case elapsed < paceOver:
		return
	default:
		p.perSecond += (float64(finished-p.finished)/elapsed.Seconds() - p.perSecond) *
			min(1, 0.5+elapsed.Seconds()/paceLasts.Seconds())
	}
	p.finished, p.at = finished, now
}

// ahead is how many tasks may wait in the queue. One always does, or a single slot would be empty between two tasks.
func (p *pace) ahead() int {
	return max(1, int(p.perSecond*aheadFor.Seconds()))
}
