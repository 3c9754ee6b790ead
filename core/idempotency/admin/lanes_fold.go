package admin

import (
	"fmt"
	"slices"

	"github.com/simplevalidations/simplevalidations/core/pages"
)

// fewLanes is how many lanes of one kind are drawn one below the other. Of more, all but the first are folded.
const fewLanes = 3

// laneGroup is a lane, or several of one kind that are folded until somebody wants to see them.
type laneGroup struct {
	lane

	// Folded are the lanes after the one before the group. Then the lane is the last of them.
	Folded []lane
	// ID is the same for as long as the lanes are.
	ID string
}

// foldLanes draws a storm of retries as two lines.
func foldLanes(lanes []lane) []laneGroup {
	var groups []laneGroup
	for i := 0; i < len(lanes); {
		alike := 1
		for i+alike < len(lanes) && lanes[i+alike].repeats(lanes[i]) {
			alike++
		}
		groups = append(groups, laneGroup{lane: lanes[i]})
		if alike > fewLanes {
			folded := lanes[i+1 : i+alike]
			groups = append(groups, laneGroup{
				lane: folded[len(folded)-1], Folded: folded, ID: fmt.Sprintf("lanes-%d", i),
			})
			i += alike
			continue
		}
		i++
	}
	return groups
}

// repeats reports whether a lane says nothing new beside the one that began the group.
func (l lane) repeats(first lane) bool {
	return l.Course == first.Course && l.Text == first.Text && l.Pill == first.Pill && l.Skipped == 0 &&
		slices.Equal(l.Differs, first.Differs) &&
		l.Course != courseFirst && l.Course != courseResumed
}

// Summary says what the folded lanes are.
func (g laneGroup) Summary() string {
	n := pages.Number(int64(len(g.Folded)))
	switch g.Course {
	case courseReplay:
		return "Replayed " + n + " more times"
	case courseWaiting:
		return "Told to wait " + n + " more times"
	case courseRefused:
		return "Refused " + n + " more times"
	default:
		return g.Pill.Text + " " + n + " more times"
	}
}

// outcome is a number of requests with a key that all came to the same.
type outcome struct {
	Label, Text string
	Count       int64
	Tone        string
}

// Outcomes sum up what the requests with the key came to.
func (p keyPage) Outcomes() []outcome {
	e := p.Entry
	work := outcome{Label: "Executed", Count: 1, Text: "the work was done once", Tone: "ok"}
	switch {
	case e.FinishedAt == nil:
		work = outcome{Label: "Executed", Count: 0, Text: "not finished yet", Tone: "run"}
	case e.RunID != nil:
		work = outcome{Label: "Runs started", Count: 1, Text: "charged once", Tone: "ok"}
	}
	replays := outcome{Label: "Replayed", Count: e.Replays, Text: "a retry gets the stored answer", Tone: "replay"}
	switch {
	case e.Replays == 0 && e.FinishedAt == nil:
		replays.Tone, replays.Text = "idle", "no answer is stored yet"
	case e.Replays == 0:
		replays.Tone = "idle"
	default:
		replays.Text = "got the stored answer"
	}
	refused := outcome{Label: "Refused", Count: e.Mismatches + e.Conflicts, Tone: "fail"}
	switch {
	case e.Mismatches > 0 && e.Conflicts > 0:
		refused.Text = fmt.Sprintf("%s different (422), %s too early (409)", pages.Number(e.Mismatches),
			pages.Number(e.Conflicts))
	case e.Mismatches > 0:
		refused.Text = "a different request (422)"
	case e.Conflicts > 0:
		refused.Text = "sent too early (409)"
	default:
		refused.Text, refused.Tone = "no different request", "idle"
	}
	all := outcome{Label: "Requests", Count: 1 + e.Replays + refused.Count, Text: "sent this key", Tone: "idle"}
	return []outcome{all, work, replays, refused}
}
