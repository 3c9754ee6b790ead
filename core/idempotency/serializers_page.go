package idempotency

import (
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/pages"
)

// keysPage lists an organization's keys, with what became of them.
type keysPage struct {
	core.Page[keyRow]
	Filter EntryFilter
	States []stateChoice
	// Stuck counts keys that nobody holds; StuckMore says that there are more.
	Stuck     int64
	StuckMore bool
	// Today is the latest day.
	Today Day
	Chart pages.Bars
	// Saved is how often a request was replayed in all of the days.
	Saved   int64
	Unkeyed WithoutKey
	// Problem is what is wrong with the filter. Nothing was looked up then.
	Problem *core.Error
}

func newKeysPage(filter EntryFilter, report keysReport) keysPage {
	page := keysPage{
		Filter:  filter,
		States:  newStateChoices(filter.State),
		Unkeyed: report.unkeyed, Stuck: report.stuck, StuckMore: report.stuck == MaxStuck, Today: report.days[0],
		Chart: pages.Bars{Rows: "Day", Series: []pages.Series{
			{Name: "replayed", Tone: "replay"},
			{Name: "in progress (409)", Tone: "run"},
			{Name: "another request (422)", Tone: "fail"},
		}},
	}
	const tickEvery = 7
	for i, day := range slices.Backward(report.days) {
		bar := pages.Bar{
			Label: day.Day.Format(time.DateOnly), Values: []int64{day.Replayed, day.InProgress, day.Reused},
		}
		if i%tickEvery == 0 {
			bar.Tick = day.Day.Format("2 Jan")
		}
		page.Chart.Bars = append(page.Chart.Bars, bar)
	}
	page.Saved = page.Chart.Total(0)
	page.Chart.Label = fmt.Sprintf(
		"Repeated requests in %d days: %s replayed, %s refused as in progress, %s refused as another request",
		len(report.days), pages.Number(page.Saved), pages.Number(page.Chart.Total(1)),
		pages.Number(page.Chart.Total(2)))
	return page
}

// Share is how many of the latest runs had no key, in percent.
func (w WithoutKey) Share() int64 {
	if w.Runs == 0 {
		return 0
	}
	return w.Unkeyed * 100 / w.Runs
}

// stateChoice is a state to narrow the list by.
type stateChoice struct {
	Value  State
	Text   string
	Chosen bool
}

func newStateChoices(chosen string) []stateChoice {
	var choices []stateChoice
	for _, state := range []State{StateInProgress, StateAbandoned, StateDead, StateFinished, StateExpired} {
		pill := pillOf(Entry{State: state})
		choices = append(choices, stateChoice{Value: state, Text: pill.Text, Chosen: string(state) == chosen})
	}
	return choices
}

// keyRow is a key as the page lists it.
type keyRow struct {
	Entry
	Pill pages.Pill
	// Operation is what people call the endpoint.
	Operation string
	// Refused is how often the key was refused.
	Refused int64
}

func newKeyRow(operations Operations) func(Entry) keyRow {
	return func(e Entry) keyRow {
		return keyRow{
			Entry: e, Pill: pillOf(e), Operation: operations.Title(e.Endpoint), Refused: e.Mismatches + e.Conflicts,
		}
	}
}

func pillOf(e Entry) pages.Pill {
	switch e.State {
	case StateInProgress:
		return pages.NewPill("run", "In progress")
	case StateAbandoned:
		return pages.NewPill("warn", "Abandoned")
	case StateDead:
		return pages.NewPill("fail", "Dead")
	case StateFinished:
		if e.Status != nil {
			return pages.NewPill("ok", fmt.Sprintf("Finished %d", *e.Status))
		}
		return pages.NewPill("ok", "Finished")
	default:
		return pages.NewPill("idle", "Expired")
	}
}

// keyPage shows one key.
type keyPage struct {
	keyRow
	Takeovers   int
	Fingerprint string
	Request     request
	Timeline    []timelineRow
	// Response is nil where there is none, or where the visitor may not see it.
	Response   *storedResponse
	MayRelease bool
	// Reason and Problem are those of a release that was refused.
	Reason  string
	Problem *core.Error
}

// timelineRow is a moment as the page shows it.
type timelineRow struct {
	At time.Time
	// Clock has the day too where it is another one than that of the first moment.
	Clock  string
	Tone   string
	Title  string
	Detail string
	// Since tells how long after the moment before; "" for the first.
	Since string
}

// How the times of a timeline are written, on its first day and on others.
const (
	clock    = "15:04:05.000"
	otherDay = "2 Jan 15:04"
)

func newKeyPage(operations Operations, report keyReport) keyPage {
	e := report.entry
	page := keyPage{
		keyRow: newKeyRow(operations)(e), Takeovers: e.Epoch - firstEpoch, Request: report.first,
		Fingerprint: hex.EncodeToString(report.first.Fingerprint),
	}
	if len(report.responses) > 0 {
		page.Response = &report.responses[0]
	}
	var before time.Time
	for i, m := range e.moments() {
		row := timelineRow{At: *m.at, Clock: m.at.UTC().Format(clock), Detail: m.detail}
		if m.at.UTC().Format(time.DateOnly) != e.CreatedAt.UTC().Format(time.DateOnly) {
			row.Clock = m.at.UTC().Format(otherDay)
		}
		row.Tone, row.Title = eventWords(m.event)
		if i > 0 {
			row.Since = "+" + pages.Took(m.at.Sub(before))
		}
		before = *m.at
		page.Timeline = append(page.Timeline, row)
	}
	return page
}

// eventWords is how an event is shown: its tone and its name.
func eventWords(event string) (string, string) {
	switch event {
	case "received":
		return "ok", "Received"
	case "locked":
		return "ok", "Locked"
	case "phase":
		return "run", "Phase"
	case "taken_over":
		return "warn", "Taken over"
	case "finished":
		return "ok", "Finished"
	case "replayed":
		return "replay", "Replayed"
	case "refused":
		return "fail", "Refused"
	case "locked_until":
		return "idle", "Locked until"
	default:
		return "idle", "Expires"
	}
}

// Cut says that not all of the body is shown.
func (r storedResponse) Cut() bool { return r.Size > len(r.Body) }

// Text is the response as it is replayed.
func (r storedResponse) Text() string {
	text := fmt.Sprintf("HTTP/1.1 %d %s\n", r.Status, http.StatusText(r.Status))
	if r.Headers.Location != "" {
		text += "Location: " + r.Headers.Location + "\n"
	}
	return text + "Content-Type: " + r.Headers.ContentType + "\n\n" + string(r.Body)
}
