package web

import (
	"time"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/validations"
)

const day = 24 * time.Hour

// filterView is the form of the filters with the current choices.
type filterView struct {
	runsPageQuery

	Tabs                                []filterTab
	Chips                               []pages.Chip
	Workflows, States, Results, Sources []pages.Choice
	Span                                pages.Span
	// More is set if one of the filters is set that are rarely wanted.
	More bool
}

// filterTab leads to the same list with another result.
type filterTab struct {
	Text, Address string
	Current       bool
}

func newFilterView(query runsPageQuery, names []validations.WorkflowName) filterView {
	view := filterView{
		runsPageQuery: query,
		Tabs:          resultTabs(query),
		Workflows:     workflowOptions(query.Workflow, names),
		Span:          query.Span("Started", query.Since, query.Until),
		States: pages.Choices(query.State, "", "Any state", string(api.RunStatePending), "Waiting",
			string(api.RunStateRunning), "Running", string(api.RunStateCompleted), "Completed"),
		Results: pages.Choices(query.Result, append([]string{"", "Any result"}, resultLabels()...)...),
		Sources: pages.Choices(query.Source, "", "Any source", string(api.SourceAPI), "API",
			string(api.SourceDashboard), "Dashboard", string(api.SourceCLI), "Command line"),
	}
	view.Chips = view.chips()
	view.More = query.State != "" || query.Source != "" || query.IdempotencyKey != "" || view.Span.IsExact()
	return view
}

func resultLabels() []string {
	return []string{
		string(api.RunResultUnknown), "In progress", string(api.RunResultPass), "Passed",
		string(api.RunResultFail), "Failed", string(api.RunResultError), "Platform error",
		string(api.RunResultTimedOut), "Timed out", string(api.RunResultCanceled), "Canceled",
	}
}

// resultTabs are one list for each result, with the other filters as they are.
func resultTabs(query runsPageQuery) []filterTab {
	var tabs []filterTab
	for _, choice := range pages.Choices(query.Result, append([]string{"", "All"}, resultLabels()...)...) {
		values := query.values()
		values.Del("result")
		if choice.Value != "" {
			values.Set("result", choice.Value)
		}
		tabs = append(tabs, filterTab{Text: choice.Text, Address: "?" + values.Encode(), Current: choice.Chosen})
	}
	return tabs
}

// workflowOptions offers the workflows by name, and the current choice even if it is none of them.
func workflowOptions(chosen string, names []validations.WorkflowName) []pages.Choice {
	choices := []pages.Choice{{Text: "Any workflow", Chosen: chosen == ""}}
	known := chosen == ""
	for _, name := range names {
		is := chosen == name.Slug || chosen == name.ID.String()
		known = known || is
		choices = append(choices, pages.Choice{Value: name.Slug, Text: name.Name, Chosen: is})
	}
	if !known {
		choices = append(choices, pages.Choice{Value: chosen, Text: chosen, Chosen: true})
	}
	return choices
}

// chips name the filters that are set. Each leads to the list without it.
func (v filterView) chips() []pages.Chip {
	return pages.Chips(v.values(), append([]pages.Filter{
		{Name: "q", Label: "Contains", Text: v.Search},
		{Name: "workflow", Label: "Workflow", Text: pages.Chosen(v.Workflows)},
		{Name: "result", Label: "Result", Text: pages.Chosen(v.Results)},
		{Name: "state", Label: "State", Text: pages.Chosen(v.States)},
		{Name: "source", Label: "Source", Text: pages.Chosen(v.Sources)},
		{Name: "idempotency_key", Label: "Key", Text: v.IdempotencyKey},
	}, v.Span.Filters()...))
}
