package web

import (
	"net/url"
	"slices"
	"time"

	"github.com/simplevalidations/simplevalidations/validations"
)

const day = 24 * time.Hour

// periods are the lengths of time that the list offers.
func periods() map[string]time.Duration {
	return map[string]time.Duration{"1h": time.Hour, "24h": day, "7d": 7 * day, "30d": 30 * day}
}

// filterView is the form of the filters with the current choices.
type filterView struct {
	runsPageQuery

	Tabs, Chips                                  []filterLink
	Workflows, Periods, States, Results, Sources []option
	// More is set if one of the filters is set that are rarely wanted.
	More bool
}

// filterLink leads to the same list with another filter.
type filterLink struct {
	Text, Address string
	Current       bool
}

// option is an option of a select.
type option struct {
	Value, Label string
	Chosen       bool
}

func newFilterView(query runsPageQuery, names []validations.WorkflowName) filterView {
	view := filterView{
		runsPageQuery: query,
		Tabs:          resultTabs(query),
		Workflows:     workflowOptions(query.Workflow, names),
		Periods: options(query.Period, "", "Any time", "1h", "Last hour", "24h", "Last 24 hours", "7d", "Last 7 days",
			"30d", "Last 30 days"),
		States: options(query.State, "", "Any state", string(validations.StatePending), "Waiting",
			string(validations.StateRunning), "Running", string(validations.StateCompleted), "Completed"),
		Results: options(query.Result, append([]string{"", "Any result"}, resultLabels()...)...),
		Sources: options(query.Source, "", "Any source", string(validations.SourceAPI), "API",
			string(validations.SourceDashboard), "Dashboard", string(validations.SourceCLI), "Command line"),
	}
	if query.Period != "" {
		view.Since = ""
	}
	view.Chips = view.chips()
	view.More = query.State != "" || query.Source != "" || query.IdempotencyKey != "" || query.Until != "" ||
		view.Since != ""
	return view
}

func resultLabels() []string {
	return []string{
		string(validations.ResultUnknown), "In progress", string(validations.ResultPass), "Passed",
		string(validations.ResultFail), "Failed", string(validations.ResultError), "Platform error",
		string(validations.ResultTimedOut), "Timed out", string(validations.ResultCanceled), "Canceled",
	}
}

// resultTabs are one list for each result, with the other filters as they are.
func resultTabs(query runsPageQuery) []filterLink {
	var tabs []filterLink
	for _, choice := range options(query.Result, append([]string{"", "All"}, resultLabels()...)...) {
		values := query.values()
		values.Del("result")
		if choice.Value != "" {
			values.Set("result", choice.Value)
		}
		tabs = append(tabs, filterLink{Text: choice.Label, Address: "?" + values.Encode(), Current: choice.Chosen})
	}
	return tabs
}

// workflowOptions offers the workflows by name, and the current choice even if it is none of them.
func workflowOptions(chosen string, names []validations.WorkflowName) []option {
	choices := []option{{Label: "Any workflow", Chosen: chosen == ""}}
	known := chosen == ""
	for _, name := range names {
		is := chosen == name.Slug || chosen == name.ID.String()
		known = known || is
		choices = append(choices, option{Value: name.Slug, Label: name.Name, Chosen: is})
	}
	if !known {
		choices = append(choices, option{Value: chosen, Label: chosen, Chosen: true})
	}
	return choices
}

// chips name the filters that are set. Each leads to the list without it.
func (v filterView) chips() []filterLink {
	var chips []filterLink
	for _, filter := range []struct{ name, label, text string }{
		{"q", "Contains", v.Search},
		{"workflow", "Workflow", chosenLabel(v.Workflows)},
		{"period", "Started", chosenLabel(v.Periods)},
		{"result", "Result", chosenLabel(v.Results)},
		{"state", "State", chosenLabel(v.States)},
		{"source", "Source", chosenLabel(v.Sources)},
		{"idempotency_key", "Key", v.IdempotencyKey},
		{"since", "Since", v.SinceField()},
		{"until", "Until", v.UntilField()},
	} {
		if filter.text != "" {
			chips = append(chips, filterLink{
				Text: filter.label + ": " + filter.text, Address: without(v.values(), filter.name),
			})
		}
	}
	return chips
}

// chosenLabel is the label of the choice, or "" if it is the first one, which selects everything.
func chosenLabel(choices []option) string {
	if i := slices.IndexFunc(choices, func(o option) bool { return o.Chosen }); i > 0 {
		return choices[i].Label
	}
	return ""
}

func without(values url.Values, name string) string {
	values.Del(name)
	return "?" + values.Encode()
}

// options makes options from pairs of a value and its label.
func options(chosen string, pairs ...string) []option {
	choices := make([]option, 0, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		choices = append(choices, option{Value: pairs[i], Label: pairs[i+1], Chosen: pairs[i] == chosen})
	}
	return choices
}
