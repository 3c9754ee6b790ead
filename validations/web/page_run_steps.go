package web

import (
	"strconv"
	"time"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/formats"
)

// stepView is an entry in the timeline of a run: the wait for a worker, or a step.
type stepView struct {
	// Number counts the steps from 1; the wait has 0.
	Number int
	Name   string
	Pill   pages.Pill
	// At is when it began, or nil before that.
	At *time.Time
	// Wait and Took are durations in words; "" before they are known.
	Wait, Took string
	Note       string
	Bar        pages.Rect
}

// spanUnits is the width of the whole axis, and spanLeast the smallest visible width.
const (
	spanUnits = 1000.0
	spanLeast = 4.0
)

// axis is the time from a run's start to its end, or to now.
type axis struct {
	begin time.Time
	whole time.Duration
}

func newAxis(run validations.Run, now time.Time) axis {
	end := now
	if run.EndedAt != nil {
		end = *run.EndedAt
	}
	return axis{begin: run.CreatedAt, whole: max(end.Sub(run.CreatedAt), time.Millisecond)}
}

// span draws a period. It is clipped to the axis, because the clocks of several machines may differ.
func (a axis) span(from, to time.Time, tone string) pages.Rect {
	left := min(max(float64(from.Sub(a.begin))/float64(a.whole)*spanUnits, 0), spanUnits-spanLeast)
	width := float64(to.Sub(from)) / float64(a.whole) * spanUnits
	width = min(max(width, spanLeast), spanUnits-left)
	return pages.Rect{X: units(left), Width: units(width), Tone: tone}
}

func units(x float64) string { return strconv.FormatFloat(x, 'f', 1, 64) }

// newStepViews makes the timeline of a run: the wait for a worker, and then the steps in their order.
func newStepViews(report runReport, now time.Time) []stepView {
	run, definition, times := report.Run, report.Definition, newAxis(report.Run, now)
	views := []stepView{waitView(run, times, now)}
	before := run.StartedAt
	results := make(map[int]validations.StepRun, len(report.Steps))
	for _, step := range report.Steps {
		results[step.Ordinal] = step
	}
	for i, step := range definition.Steps {
		result, done := results[i]
		if !done {
			view := openStepView(run, step, i, times, before, now)
			view.Number = i + 1
			views = append(views, view)
			continue
		}
		view := stepView{
			Number: i + 1, Name: formats.Clean(result.Name), Pill: stepPill(result), At: &result.StartedAt,
			Took: pages.Took(max(result.EndedAt.Sub(result.StartedAt), 0)),
			Note: formats.Clean(result.Error),
		}
		if before != nil {
			view.Wait = pages.Took(max(result.StartedAt.Sub(*before), 0))
		}
		view.Bar = times.span(result.StartedAt, result.EndedAt, view.Pill.Tone)
		before = &result.EndedAt
		views = append(views, view)
	}
	return views
}

func waitView(run validations.Run, times axis, now time.Time) stepView {
	view := stepView{Name: "Queued", At: &run.CreatedAt, Pill: pages.NewPill("idle", "Waiting")}
	end := now
	switch {
	case run.StartedAt != nil:
		end, view.Pill = *run.StartedAt, pages.NewPill("ok", "Taken by a worker")
	case run.EndedAt != nil:
		end, view.Pill = *run.EndedAt, pages.NewPill("idle", "Never taken")
	}
	view.Took = pages.Took(max(end.Sub(run.CreatedAt), 0))
	view.Bar = times.span(run.CreatedAt, end, "idle")
	return view
}

// openStepView shows a step without a result. If the step has ended the run, the note says why.
func openStepView(
	run validations.Run, step validations.Step, ordinal int, times axis, before *time.Time, now time.Time,
) stepView {
	body := validations.RenderStepWithoutResult(run, step, ordinal)
	view := stepView{Name: formats.Clean(step.Name), Note: formats.Clean(body.Error)}
	end := now
	switch body.Status {
	case api.StepStatusRunning:
		view.Pill = pages.NewPill("run", "Running")
	case api.StepStatusFailed:
		view.Pill = pages.NewPill("error", "Not finished")
		end = *run.EndedAt
	case api.StepStatusSkipped:
		view.Pill = pages.NewPill("idle", "Not executed")
		return view
	default:
		view.Pill = pages.NewPill("idle", "Waiting")
		return view
	}
	if before != nil {
		view.At, view.Took = before, pages.Took(max(end.Sub(*before), 0))
		view.Bar = times.span(*before, end, view.Pill.Tone)
	}
	return view
}

// stepPill shows the result of a step.
func stepPill(step validations.StepRun) pages.Pill {
	switch {
	case step.Status == api.StepStatusFailed:
		return pages.NewPill("fail", pages.Counted(step.ErrorCount, "error"))
	case step.WarningCount > 0:
		return pages.NewPill("warn", pages.Counted(step.WarningCount, "warning"))
	case step.Status == api.StepStatusPassed:
		return pages.NewPill("ok", "Passed")
	default:
		return pages.NewPill("idle", "Skipped")
	}
}
