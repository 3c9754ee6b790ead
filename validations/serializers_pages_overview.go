package validations

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/idempotency/admin"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/users"
)

const (
	// latestRuns is how many runs the overview lists.
	latestRuns = 8
	// tickHours is how far the ticks of the time axis are apart.
	tickHours = 6
)

// overviewView is how an organization is, at a glance.
type overviewView struct {
	Attention attention
	Runs      runTile
	// Replays is how many repeated requests did not start a run again.
	Replays int64
	Quota   quotaTile
	Hours   pages.Bars
	// CountedSince is set when not all runs of the last 24 hours are counted.
	CountedSince *time.Time
	Latency      latency
	Took         durations
	Latest       []listRow
	// Newest is the address of the page itself, for what has come since.
	Newest string
	// FirstRun is a command that starts a run, for those who have none; "" where there is no workflow for it.
	FirstRun string
}

// attention is what somebody should look at.
type attention struct {
	Count int64
	// More says that there is more than was counted.
	More    bool
	Text    string
	Address string
}

func newAttention(base string, stuck int64, late lateRuns) attention {
	lateCount := late.Pending + late.Running
	a := attention{
		Count: stuck + lateCount, More: stuck == admin.MaxStuck || lateCount == maxLate,
		Text: "no key is stuck and no run is late", Address: base + "keys/",
	}
	var parts []string
	if lateCount > 0 {
		state := StatePending
		if late.Pending == 0 {
			state = StateRunning
		}
		a.Address = base + "runs/?state=" + string(state)
		parts = append(parts, counted(lateCount, "late run"))
	}
	if stuck > 0 {
		a.Address = base + "keys/?state=" + string(admin.StateAbandoned)
		parts = append([]string{counted(stuck, "stuck key")}, parts...)
	}
	if len(parts) > 0 {
		a.Text = strings.Join(parts, ", ")
	}
	return a
}

// runTile counts the runs of the last 24 hours.
type runTile struct {
	Total, Failed, Errors int64
	Address               string
}

// quotaTile is what is left of the quota; Gauge is nil where there is none.
type quotaTile struct {
	Left  int64
	Gauge *pages.Gauge
	Text  string
}

func newQuotaTile(usage users.PeriodUsage) quotaTile {
	if usage.Quota == nil {
		return quotaTile{Text: counted(usage.Used, "run") + " used"}
	}
	return quotaTile{
		Left: max(*usage.Quota-usage.Used, 0), Gauge: &pages.Gauge{Used: usage.Used, Limit: *usage.Quota},
		Text: fmt.Sprintf("%s of %s runs used", pages.Number(usage.Used), pages.Number(*usage.Quota)),
	}
}

// newOverviewView puts the numbers together; what was read of runs covers the last 24 hours.
func newOverviewView(
	base string, found recent, starts admin.Hours, stuck int64, usage users.PeriodUsage,
) overviewView {
	view := overviewView{
		Attention: newAttention(base, stuck, found.late), Quota: newQuotaTile(usage), Took: found.took,
		Hours: newHoursChart(base, found.hours, starts.Replays), Latency: newLatency(starts.Took), Newest: base,
	}
	for _, hour := range found.hours {
		view.Runs.Total += hour.total()
		view.Runs.Failed += hour.Failed
		view.Runs.Errors += hour.Errors
		if view.CountedSince == nil {
			view.CountedSince = hour.Since
		}
	}
	if view.Runs.Total < overviewRuns {
		view.CountedSince = nil
	}
	view.Runs.Address = base + "runs/?" + between(found.hours[0].Hour, time.Time{}).Encode()
	view.Replays = view.Hours.Total(len(view.Hours.Series) - 1)
	return view
}

// between are the filters of a list of runs for those that were started in a time; one without a limit has no end.
func between(since, until time.Time) url.Values {
	values := url.Values{"since": {core.FormatTime(since)}}
	if !until.IsZero() {
		values.Set("until", core.FormatTime(until))
	}
	return values
}

func newHoursChart(base string, hours []hourResults, replays map[time.Time]int64) pages.Bars {
	chart := pages.Bars{Rows: "Hour (UTC)", Series: []pages.Series{
		{Name: "passed", Tone: "ok"},
		{Name: "failed", Tone: "fail"},
		{Name: "platform errors", Tone: "warn"},
		{Name: "waiting or canceled", Tone: "idle"},
		{Name: "replayed", Tone: "replay"},
	}}
	for _, hour := range hours {
		start := hour.Hour.UTC()
		bar := pages.Bar{
			Label:   start.Format("2006-01-02 15:04"),
			Address: base + "runs/?" + between(start, start.Add(time.Hour)).Encode(),
			Values:  []int64{hour.Passed, hour.Failed, hour.Errors, hour.Other, replays[start]},
		}
		if start.Hour()%tickHours == 0 {
			bar.Tick = start.Format("15:04")
		}
		chart.Bars = append(chart.Bars, bar)
	}
	chart.Label = fmt.Sprintf("Runs and replays per hour, last 24 hours: %s passed, %s failed, %s, %s replayed",
		pages.Number(chart.Total(0)), pages.Number(chart.Total(1)), counted(chart.Total(2), "platform error"),
		pages.Number(chart.Total(len(chart.Series)-1)))
	return chart
}

// title says in the browser's tab when something needs attention.
func (v overviewView) title() string {
	if v.Attention.Count == 0 {
		return "Overview"
	}
	return fmt.Sprintf("! %d · Overview", v.Attention.Count)
}
