package health

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/tasks"
)

// shownProcesses is how many processes are shown with their loops.
const shownProcesses = 20

// processesView shows the processes and their loops, and which duties no process does.
type processesView struct {
	Rows  []processRow
	Loops []loopRow
	// More says that some processes are not shown, and Silent that a shown one is silent.
	More, Silent bool
	Missing      []Duty
	Releases     []string
}

// processRow is a process and whether it lives.
type processRow struct {
	tasks.ProcessState

	Pill pages.Pill
}

// loopRow is a loop of a living process.
type loopRow struct {
	tasks.LoopState

	Process string
	Pill    pages.Pill
}

func newProcessesView(processes []tasks.ProcessState) processesView {
	view := processesView{Missing: Missing(processes), Releases: releases(processes)}
	processes = slices.Clone(processes)
	slices.SortStableFunc(processes, func(a, b tasks.ProcessState) int {
		return cmp.Compare(min(len(complaintsOf(b)), 1), min(len(complaintsOf(a)), 1))
	})
	if view.More = len(processes) > shownProcesses; view.More {
		processes = processes[:shownProcesses]
	}
	for _, process := range processes {
		view.Rows = append(view.Rows, processRow{process, newProcessPill(process)})
		if process.SilentFor > 0 {
			view.Silent = true
			continue
		}
		for _, loop := range process.Loops {
			view.Loops = append(view.Loops, loopRow{loop, nameOf(process), newLoopPill(loop)})
		}
	}
	slices.SortStableFunc(view.Loops, func(a, b loopRow) int { return strings.Compare(a.Name, b.Name) })
	return view
}

func newProcessPill(process tasks.ProcessState) pages.Pill {
	if process.SilentFor > 0 {
		return pages.NewPill("fail", "No heartbeat for "+pages.Took(process.SilentFor.Round(time.Second)))
	}
	return pages.NewPill("ok", "Alive")
}

func newLoopPill(loop tasks.LoopState) pages.Pill {
	switch {
	case loop.Failures > 0:
		return pages.NewPill("fail", fmt.Sprintf("Failed %s in a row", core.Plural(int(loop.Failures), "time")))
	case loop.Late:
		return pages.NewPill("warn", "Late")
	case loop.EndedAt == nil:
		return pages.NewPill("idle", "No pass yet")
	default:
		return pages.NewPill("ok", "OK")
	}
}
