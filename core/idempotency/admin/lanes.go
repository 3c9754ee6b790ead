package admin

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/core/requestlog"
)

// The first and the last requests of a key are drawn; there may be any number between them.
const (
	firstLanes = 20
	lastLanes  = 30
)

// The courses of a lane, as the template draws them.
const (
	courseFirst   = "first"   // Did the work.
	courseReplay  = "replay"  // Got the answer of the first.
	courseResumed = "resumed" // Went on where the first had stopped.
	courseWaiting = "waiting" // Refused, because the first was not answered yet.
	courseRefused = "refused"
	courseEvent   = "event" // No request: what became of the key.
)

// lane is a request with the key, or something that happened to the key, in the picture of its page.
type lane struct {
	At time.Time
	// Clock is the time of day; with the day where it is not the day of the first lane. Since is how long after the
	// lane before; "" for the first.
	Clock, Since string
	Course       string
	// Number counts the requests from 1; 0 for an event and where requests before it are not listed.
	Number int
	Pill   pages.Pill
	// Text says in a sentence what became of it.
	Text string
	// Differs names the parts in which a refused request was another one than the first.
	Differs []string
	// Points are the recovery points that the request has reached, with their times.
	Points []lanePoint
	// Log is the page of the request in the log; "" for one that is not there. Run is that of the run of the first one.
	Log, Run  string
	RequestID string
	// From says who has sent it.
	From string
	// Took is how long the answer took; "" where it is not known.
	Took string
	// Undone is set for the first request if it has stopped before its work was done.
	Undone bool
	// Skipped is how many requests before this lane are not listed.
	Skipped int64
}

// lanePoint is a step of the first request.
type lanePoint struct {
	Clock, Text string
}

// newPicture draws the requests of a key, oldest first, as the log has them. base is the path of the organization's
// pages.
func newPicture(base string, e Entry, requests []requestlog.Request, labels map[uuid.UUID]string) []laneGroup {
	lanes := requestLanes(base, e, requests, labels)
	lanes = append(lanes, eventLanes(e)...)
	slices.SortStableFunc(lanes, func(a, b lane) int { return a.At.Compare(b.At) })
	for i := range lanes {
		lanes[i].Clock = clockOf(lanes[i].At, e.CreatedAt)
		if i > 0 && !lanes[i].At.Equal(e.ExpiresAt) {
			lanes[i].Since = "+" + pages.Took(lanes[i].At.Sub(lanes[i-1].At))
		}
	}
	return foldLanes(lanes)
}

// requestLanes returns the requests, with the first one even if the log does not have it.
func requestLanes(base string, e Entry, requests []requestlog.Request, labels map[uuid.UUID]string) []lane {
	var lanes []lane
	first := firstOf(e, requests)
	if first < 0 {
		lanes = append(lanes, lane{
			At: e.CreatedAt, Course: courseFirst, RequestID: e.RequestID, Number: 1, Text: firstText(e),
			Points: firstPoints(e), Pill: pillOf(e),
		})
	}
	for i, request := range requests {
		made := requestLane(base, request, labels)
		if i == first {
			made.Course, made.Points = courseFirst, firstPoints(e)
			if request.Code == "" || e.Status != nil && *e.Status == request.Status {
				made.Text, made.Pill = firstText(e), pillOf(e)
			} else {
				made.Text = "The first request. It locked the key, and ended before an answer was stored: " +
					strings.ToLower(core.Spec(request.Code).Title) + "."
			}
		}
		made.Number = len(lanes) + 1
		lanes = append(lanes, made)
	}
	for i := range lanes {
		if lanes[i].Course != courseFirst {
			continue
		}
		lanes[i].Undone = e.takeovers() > 0 || e.FinishedAt == nil && e.RunID == nil
		if e.RunID != nil {
			lanes[i].Run = base + "runs/" + e.RunID.String() + "/"
		}
	}
	return withGap(e, lanes)
}

// claimSlack is more than what the clocks of the log and of the key differ by.
const claimSlack = time.Second

// firstOf returns which of the requests has made the key, or -1. A client may give several requests one id, so a
// refused one counts only if the key was made while it was under way.
func firstOf(e Entry, requests []requestlog.Request) int {
	first := -1
	for i, r := range requests {
		if r.RequestID != e.RequestID || r.OriginalRequestID != "" {
			continue
		}
		if r.Code == "" {
			return i
		}
		if !e.CreatedAt.Before(r.At.Add(-claimSlack)) && !e.CreatedAt.After(r.At.Add(r.Took+claimSlack)) &&
			r.Code != api.CodeKeyInProgress && r.Code != api.CodeKeyReused {
			first = i
		}
	}
	return first
}

// withGap says how many requests are not listed, where the first ones end and the last ones begin.
func withGap(e Entry, lanes []lane) []lane {
	skipped := 1 + e.Replays + e.Mismatches + e.Conflicts - int64(len(lanes))
	if skipped <= 0 || len(lanes) < 2 {
		return lanes
	}
	at := min(firstLanes, len(lanes)-1)
	lanes[at].Skipped = skipped
	for i := at; i < len(lanes); i++ {
		lanes[i].Number = 0
	}
	return lanes
}

func requestLane(base string, r requestlog.Request, labels map[uuid.UUID]string) lane {
	made := lane{
		At: r.At, Log: base + "requests/" + r.ID.String() + "/", RequestID: r.RequestID,
		Took: pages.Took(r.Took), Pill: requestlog.StatusPill(r),
		From: cmp.Or(labels[r.TokenID], "dashboard"),
	}
	if r.Address.IsValid() {
		made.From += ", " + r.Address.String()
	}
	switch {
	case r.Replayed:
		made.Course = courseReplay
		made.Text = "The same request again. It got the first answer, and nothing was done twice."
	case r.Code == api.CodeKeyInProgress:
		made.Course = courseWaiting
		made.Text = "The same request again, before the first one was answered. The client was asked to wait and retry."
	case r.Code == api.CodeKeyReused:
		made.Course, made.Differs = courseRefused, differing(r.Problem)
		made.Text = "A different request with the same key. It was refused, so that no client gets the answer to " +
			"another request."
	case r.Code != "":
		made.Course = courseRefused
		made.Text = fmt.Sprintf("Refused: %s. The key can still be used.", strings.ToLower(core.Spec(r.Code).Title))
	case r.OriginalRequestID != "":
		made.Course = courseResumed
		made.Text = "The same request again, after the first one had stopped. It continued where that had stopped."
	default:
		made.Course = courseReplay
		made.Text = "Answered."
	}
	return made
}

// differing names the parts in which a refused request was another one.
func differing(problem *api.Problem) []string {
	if problem == nil {
		return nil
	}
	words := map[string]string{
		"workflow": "workflow or version", "run": "run to repeat", "content": "document", "options": "options",
	}
	parts := make([]string, len(problem.Differs))
	for i, part := range problem.Differs {
		parts[i] = "other " + cmp.Or(words[part], part)
	}
	return parts
}

// firstText says what the first request has done.
func firstText(e Entry) string {
	switch {
	case e.FinishedAt == nil:
		return "The first request. It has locked the key and is not finished."
	case e.RunID != nil:
		return "The first request. It started the run, and its answer was stored with the key."
	case e.Status != nil && *e.Status >= http.StatusBadRequest:
		return "The first request. It was declined, and its answer was stored with the key."
	default:
		return "The first request. It did its work, and its answer was stored with the key."
	}
}

// firstPoints are what the first transaction has done, and the phases after it until a takeover.
func firstPoints(e Entry) []lanePoint {
	points := []lanePoint{{Clock: clockOf(e.CreatedAt, e.CreatedAt), Text: "key locked"}}
	if first := e.firstPoint(); first != idempotency.PointFinished {
		points = append(points, lanePoint{Clock: clockOf(e.CreatedAt, e.CreatedAt), Text: "reached " + string(first)})
	}
	for _, change := range e.changes {
		if change.Point == change.Was {
			return points // Another request or the service went on.
		}
		if change.Point != idempotency.PointFinished {
			points = append(points, lanePoint{
				Clock: clockOf(change.At, e.CreatedAt), Text: "reached " + string(change.Point),
			})
		}
	}
	if e.FinishedAt != nil {
		points = append(points, lanePoint{Clock: clockOf(*e.FinishedAt, e.CreatedAt), Text: "answer stored"})
	}
	return points
}

// eventLanes are what happened to the key without a request, or by one that took it over.
func eventLanes(e Entry) []lane {
	var lanes []lane
	event := func(at time.Time, tone, title, text string) {
		lanes = append(lanes, lane{At: at, Course: courseEvent, Pill: pages.NewPill(tone, title), Text: text})
	}
	taken := false
	for _, change := range e.changes {
		switch {
		case change.Point == change.Was:
			taken = true
			event(change.At, "warn", "Taken over",
				"The holder of the key had stopped at "+string(change.Point)+". A retry or the completer goes on.")
		case taken && change.Point != idempotency.PointFinished:
			event(change.At, "run", "Phase", "Reached "+string(change.Point)+".")
		}
	}
	if taken && e.FinishedAt != nil {
		event(*e.FinishedAt, "ok", "Finished", "The answer was stored with the key.")
	}
	if e.FinishedAt == nil && e.LockedUntil != nil {
		event(*e.LockedUntil, "idle", "Lock ends",
			"If the holder of the key does not finish by then, another takes over.")
	}
	event(e.ExpiresAt, "idle", "Expires", "The key is forgotten: the same request would be a new one.")
	return lanes
}

// clockOf is a time of day; with the day where it is not the day of the first request.
func clockOf(at, first time.Time) string {
	if at.UTC().Format(time.DateOnly) != first.UTC().Format(time.DateOnly) {
		return at.UTC().Format(otherDay)
	}
	return at.UTC().Format(clock)
}
