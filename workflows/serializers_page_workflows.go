package workflows

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// workflowsPage is the list of workflows.
type workflowsPage struct {
	core.Page[workflowRow]

	MayRun, MayEdit bool
}

type workflowRow struct {
	Version

	Recent recentRuns
}

func newWorkflowsPage(
	principal core.Principal, page core.Page[Version], results map[uuid.UUID][]validations.RunResult,
) workflowsPage {
	return workflowsPage{
		Page: core.MapPage(page, func(v Version) workflowRow {
			return workflowRow{Version: v, Recent: newRecentRuns(results[v.ID])}
		}),
		MayRun: principal.Role.Allows(core.RoleExecutor), MayEdit: principal.Role.Allows(core.RoleAuthor),
	}
}

// recentRuns are the results of a workflow's newest runs.
type recentRuns struct {
	Spark pages.Spark
	// Passed and Failed count the runs that have come to a verdict on their document.
	Passed, Failed int64
	Count          int
}

func newRecentRuns(newestFirst []validations.RunResult) recentRuns {
	recent := recentRuns{Count: len(newestFirst)}
	for _, result := range slices.Backward(newestFirst) {
		recent.Spark.Tones = append(recent.Spark.Tones, toneOf(result))
		switch result {
		case validations.ResultPass:
			recent.Passed++
		case validations.ResultFail:
			recent.Failed++
		case validations.ResultUnknown, validations.ResultError, validations.ResultCanceled, validations.ResultTimedOut:
		}
	}
	recent.Spark.Label = fmt.Sprintf("The last %s, from old to new: %d passed, %d failed",
		core.Plural(recent.Count, "run"), recent.Passed, recent.Failed)
	return recent
}

// Verdicts is how many runs have come to a verdict.
func (r recentRuns) Verdicts() int64 { return r.Passed + r.Failed }

func toneOf(result validations.RunResult) string {
	switch result {
	case validations.ResultPass:
		return "ok"
	case validations.ResultFail:
		return "fail"
	case validations.ResultError, validations.ResultTimedOut:
		return "warn"
	case validations.ResultUnknown:
		return "run"
	case validations.ResultCanceled:
		return "idle"
	default:
		return "idle"
	}
}

// workflowPage is one workflow.
type workflowPage struct {
	Version

	Steps        []stepView
	Recent       recentRuns
	Days         pages.Bars
	FailingRules []validations.FailingRule
	FailedRuns   int64
	Versions     []versionEntry
	Snippets     []snippet
	Address      string
	MaxBytes     int64

	MayRun, MayEdit bool

	days []validations.DayResults
}

// complete adds what follows from the rest.
func (p *workflowPage) complete(principal core.Principal) error {
	var err error
	if p.Snippets, err = snippetsOf(p.Version, p.Address); err != nil {
		return err
	}
	p.Steps = viewSteps(p.Definition)
	p.Days = dayBars(p.days, pages.Base(principal.OrgSlug)+"runs/", p.Slug)
	p.MayRun, p.MayEdit = principal.Role.Allows(core.RoleExecutor), principal.Role.Allows(core.RoleAuthor)
	return nil
}

// MoreVersions reports whether there are versions that the page does not list.
func (p *workflowPage) MoreVersions() bool { return len(p.Versions) > shownVersions }

// ShownVersions are those that the page lists.
func (p *workflowPage) ShownVersions() []versionEntry {
	return p.Versions[:min(len(p.Versions), shownVersions)]
}

// TimeLimit is how long a run may take; 0 is the operator's limit.
func (p *workflowPage) TimeLimit() time.Duration {
	return time.Duration(p.Definition.TimeoutSeconds) * time.Second
}

// dayBars is the chart of a workflow's runs by day. Each bar leads to its runs.
func dayBars(days []validations.DayResults, runs, slug string) pages.Bars {
	chart := pages.Bars{
		Rows: "Day",
		Series: []pages.Series{
			{Name: "passed", Tone: "ok"}, {Name: "failed", Tone: "fail"}, {Name: "other", Tone: "idle"},
		},
	}
	const tickEvery = 7
	for i, day := range days {
		query := url.Values{
			"workflow": {slug}, "since": {day.Day.Format(time.RFC3339)},
			"until": {day.Day.AddDate(0, 0, 1).Format(time.RFC3339)},
		}
		bar := pages.Bar{
			Label: day.Day.Format("2006-01-02"), Address: runs + "?" + query.Encode(),
			Values: []int64{day.Passed, day.Failed, day.Other},
		}
		if i%tickEvery == 0 {
			bar.Tick = day.Day.Format("2 Jan")
		}
		chart.Bars = append(chart.Bars, bar)
	}
	chart.Label = fmt.Sprintf("Runs by day, the last %s: %d passed, %d failed, %d other",
		core.Plural(len(days), "day"), chart.Total(0), chart.Total(1), chart.Total(2))
	return chart
}

// stepView is a step in plain words.
type stepView struct {
	Name, Kind string
	Continues  bool
	TimeLimit  time.Duration
	Promises   []engines.Promise
	// More are those beyond the first, which are shown when asked for.
	More []engines.Promise
}

// shownPromises is how many demands of a step are shown at once.
const shownPromises = 6

func viewSteps(definition validations.Definition) []stepView {
	steps := make([]stepView, len(definition.Steps))
	for i, step := range definition.Steps {
		promises := engines.Describe(step.Type, step.Config)
		shown := min(len(promises), shownPromises)
		steps[i] = stepView{
			Name: step.Name, Kind: engines.KindTitle(step.Type), Continues: step.ContinueOnFailure,
			TimeLimit: time.Duration(step.TimeoutSeconds) * time.Second,
			Promises:  promises[:shown], More: promises[shown:],
		}
	}
	return steps
}

// versionsPage is the list of a workflow's versions.
type versionsPage struct {
	Workflow       Version
	Versions       []versionEntry
	Next, Previous string
}

func newVersionsPage(workflow Version, entries []versionEntry, address url.URL) versionsPage {
	page := versionsPage{Workflow: workflow, Versions: entries}
	if len(entries) > versionsAtOnce {
		page.Versions = entries[:versionsAtOnce]
		address.RawQuery = url.Values{"below": {strconv.Itoa(page.Versions[versionsAtOnce-1].Number)}}.Encode()
		page.Next = address.RequestURI()
	}
	return page
}

// versionPage is one version as it was published.
type versionPage struct {
	Version

	Steps []stepView
	// Text is the version as a file, cut where it is too long for a page.
	Text   string
	Size   int64
	Cut    bool
	MayRun bool
}

// shownText is how much of a file a page shows.
const shownText = 24 << 10

func newVersionPage(principal core.Principal, version Version, address string) (versionPage, error) {
	text, err := fileOf(version).YAML(address + FileSchemaPath)
	if err != nil {
		return versionPage{}, err
	}
	page := versionPage{
		Version: version, Steps: viewSteps(version.Definition), Text: string(text), Size: int64(len(text)),
		MayRun: principal.Role.Allows(core.RoleExecutor),
	}
	if len(text) > shownText {
		page.Text, page.Cut = strings.ToValidUTF8(page.Text[:shownText], ""), true
	}
	return page, nil
}
