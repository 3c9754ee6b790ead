package idempotency

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
)

// maxMoves is how many moves of a key are shown, the latest.
const maxMoves = 100

// move is a step of a key that has several phases: to its next recovery point or, at the same one, to another holder.
type move struct {
	At    time.Time
	Was   Point
	Point Point
	Epoch int
}

// queueMoves finds the latest moves of a key, the oldest first.
func queueMoves(reads *db.Reads, orgID, id uuid.UUID, found *[]move) {
	reads.Queue(db.AllInto(found, pgx.RowToStructByPos[move]), `
		SELECT at, was, point, epoch FROM (
			SELECT id, at, was, point, epoch FROM key_events WHERE org_id = $1 AND key_id = $2
			ORDER BY id DESC LIMIT $3) AS latest
		ORDER BY id`, orgID, id, maxMoves)
}

// moment is an event of a timeline. One without a time has not happened.
type moment struct {
	at     *time.Time
	event  string
	detail string
}

// moments tell the story of a key that Find has read, in the order of their times.
func (e Entry) moments() []moment {
	moments := slices.Concat(e.beginning(), e.middle(), e.end())
	moments = slices.DeleteFunc(moments, func(m moment) bool { return m.at == nil })
	slices.SortStableFunc(moments, func(a, b moment) int { return a.at.Compare(*b.at) })
	return moments
}

// Timeline renders the story of a key that Find has read.
func (e Entry) Timeline() []EventBody {
	moments := e.moments()
	timeline := make([]EventBody, len(moments))
	for i, m := range moments {
		timeline[i] = EventBody{At: core.FormatTime(*m.at), Event: m.event, Detail: m.detail}
	}
	return timeline
}

func (e Entry) beginning() []moment {
	begun := []moment{
		{&e.CreatedAt, "received", e.RequestMethod + " " + e.RequestPath + ", request " + e.RequestID},
		{&e.CreatedAt, "locked", "by this request"},
	}
	first := e.Point
	if len(e.moves) > 0 {
		first = e.moves[0].Was
	}
	if first != PointFinished {
		begun = append(begun, moment{&e.CreatedAt, "phase", "reached " + string(first)})
	}
	return begun
}

func (e Entry) middle() []moment {
	var moments []moment
	for i, m := range e.moves {
		at := &e.moves[i].At
		switch m.Point {
		case m.Was:
			moments = append(moments, moment{at, "taken_over", "from a request that had stopped at " + string(m.Point)})
		case PointFinished: // It has a moment of its own.
		default:
			moments = append(moments, moment{at, "phase", "reached " + string(m.Point)})
		}
	}
	return moments
}

func (e Entry) end() []moment {
	moments := []moment{{e.FinishedAt, "finished", "response stored"}}
	if e.FinishedAt == nil {
		moments[0] = moment{e.LockedUntil, "locked_until", "at recovery point " + string(e.Point)}
	}
	if e.Replays > 0 {
		moments = append(moments, moment{e.LastReplayAt, "replayed", times(e.Replays) + lastOf(e.Replays)})
	}
	if refused := e.Mismatches + e.Conflicts; refused > 0 {
		moments = append(moments, moment{e.LastRefusalAt, "refused", e.refusals() + lastOf(refused)})
	}
	return append(moments, moment{&e.ExpiresAt, "expires", "the key is forgotten"})
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
