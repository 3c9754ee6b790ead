package admin

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
)

// phaseChange is a row of a key's events: the key has reached its next recovery point or, at the same point, was taken
// over under the next epoch.
type phaseChange struct {
	At    time.Time
	Was   idempotency.Point
	Point idempotency.Point
	Epoch int
}

// timelineEvent is an event of a key's timeline.
type timelineEvent struct {
	// at is nil where the event has not happened.
	at     *time.Time
	event  string
	detail string
}

// Timeline renders the timeline of a key that Find has read.
func (e Entry) Timeline() []api.KeyEvent {
	events := e.events()
	timeline := make([]api.KeyEvent, len(events))
	for i, event := range events {
		timeline[i] = api.KeyEvent{At: api.At(*event.at), Event: event.event, Detail: event.detail}
	}
	return timeline
}

// events returns the timeline of a key that Find has read, in the order of time.
func (e Entry) events() []timelineEvent {
	events := slices.Concat(e.claimEvents(), e.phaseEvents(), e.finalEvents())
	events = slices.DeleteFunc(events, func(event timelineEvent) bool { return event.at == nil })
	slices.SortStableFunc(events, func(a, b timelineEvent) int { return a.at.Compare(*b.at) })
	return events
}

// claimEvents returns what the first request did. Its first recovery point is in no row of events, because the trigger
// records changes only, so it is the origin of the first change.
func (e Entry) claimEvents() []timelineEvent {
	events := []timelineEvent{
		{&e.CreatedAt, "received", e.RequestMethod + " " + e.RequestPath + ", request " + e.RequestID},
		{&e.CreatedAt, "locked", "by this request"},
	}
	if first := e.firstPoint(); first != idempotency.PointFinished {
		events = append(events, timelineEvent{&e.CreatedAt, "phase", "reached " + string(first)})
	}
	return events
}

// firstPoint is the recovery point that the first transaction has reached.
func (e Entry) firstPoint() idempotency.Point {
	if len(e.changes) > 0 {
		return e.changes[0].Was
	}
	return e.Point
}

// phaseEvents returns the phases and takeovers after the first transaction.
func (e Entry) phaseEvents() []timelineEvent {
	var events []timelineEvent
	for i, change := range e.changes {
		at := &e.changes[i].At
		switch change.Point {
		case change.Was:
			events = append(events,
				timelineEvent{at, "taken_over", "from a request that had stopped at " + string(change.Point)})
		case idempotency.PointFinished: // finalEvents has it, also for keys of one phase, which have no changes.
		default:
			events = append(events, timelineEvent{at, "phase", "reached " + string(change.Point)})
		}
	}
	return events
}

// finalEvents returns how the request ended, how it was repeated since, and when the key expires. Repetitions are
// counted and not listed, so one event stands for all of a kind, at the time of the last.
func (e Entry) finalEvents() []timelineEvent {
	events := []timelineEvent{{e.FinishedAt, "finished", "response stored"}}
	if e.FinishedAt == nil {
		events[0] = timelineEvent{e.LockedUntil, "locked_until", "at recovery point " + string(e.Point)}
	}
	if e.Replays > 0 {
		at := notBefore(e.FinishedAt, e.LastReplayAt)
		events = append(events, timelineEvent{at, "replayed", times(e.Replays) + lastOf(e.Replays)})
	}
	if refused := e.Mismatches + e.Conflicts; refused > 0 {
		at := notBefore(&e.CreatedAt, e.LastRefusalAt)
		events = append(events, timelineEvent{at, "refused", e.refusals() + lastOf(refused)})
	}
	return append(events, timelineEvent{&e.ExpiresAt, "expires", "the key is forgotten"})
}

// notBefore returns at, or its cause if that is later. The time of a repetition is computed from its age and may be off
// by a millisecond, which must not put an answer before the request.
func notBefore(cause, at *time.Time) *time.Time {
	if cause != nil && at != nil && at.Before(*cause) {
		return cause
	}
	return at
}

// refusals says what the key was refused for, and how often.
func (e Entry) refusals() string {
	var refusals []string
	if e.Mismatches > 0 {
		refusals = append(refusals, times(e.Mismatches)+" for another request")
	}
	if e.Conflicts > 0 {
		refusals = append(refusals, times(e.Conflicts)+" while in progress")
	}
	return strings.Join(refusals, ", ")
}

// lastOf explains the time of an event that stands for several.
func lastOf(n int64) string {
	if n == 1 {
		return ""
	}
	return "; this was the last"
}

func times(n int64) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
