package web

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/users/quota"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/formats"
	"github.com/simplevalidations/simplevalidations/validations/insights"
)

// passRate is the share of the runs that have passed, in percent, among those with a verdict.
type passRate struct {
	Runs    int64
	Percent int64
	// Change compares it with the day before; "" if there were no verdicts.
	Change string
}

func newPassRate(today, before insights.Verdicts) passRate {
	rate := passRate{Runs: today.Passed + today.Failed}
	if rate.Runs == 0 {
		return rate
	}
	rate.Percent = rounded(today)
	if before.Passed+before.Failed > 0 {
		switch change := rate.Percent - rounded(before); {
		case change > 0:
			rate.Change = fmt.Sprintf("%d points more than the day before", change)
		case change < 0:
			rate.Change = fmt.Sprintf("%d points less than the day before", -change)
		default:
			rate.Change = "as on the day before"
		}
	}
	return rate
}

// rounded is the percentage that has passed. All or none is said only of all or none.
func rounded(v insights.Verdicts) int64 {
	all := v.Passed + v.Failed
	percent := (v.Passed*200 + all) / (all * 2)
	if v.Failed > 0 {
		percent = min(percent, 99)
	}
	if v.Passed > 0 {
		percent = max(percent, 1)
	}
	return percent
}

// failingRow is a workflow with failed runs. Workflow is its page, and Address leads to the runs.
type failingRow struct {
	insights.FailingWorkflow

	Workflow, Address string
}

func newFailingRows(base string, since time.Time, failing []insights.FailingWorkflow) []failingRow {
	rows := make([]failingRow, len(failing))
	for i, workflow := range failing {
		values := between(since, time.Time{})
		values.Set("workflow", workflow.Slug)
		values.Set("result", string(api.RunResultFail))
		rows[i] = failingRow{
			FailingWorkflow: workflow, Workflow: base + "workflows/" + workflow.Slug + "/",
			Address: base + "runs/?" + values.Encode(),
		}
	}
	return rows
}

// ruleRow is a rule that documents have failed, with the newest runs that did.
type ruleRow struct {
	insights.TopRule

	// Address is the page of the workflow.
	Address string
	// Latest are the newest runs.
	Latest []ruleRun
}

// ruleRun is a run that has failed a rule.
type ruleRun struct {
	ID, Address string
}

func newRuleRows(base string, rules []insights.TopRule) []ruleRow {
	rows := make([]ruleRow, len(rules))
	for i, rule := range rules {
		rule.Message, rule.Rule = formats.Clean(rule.Message), formats.Clean(rule.Rule)
		rows[i] = ruleRow{TopRule: rule, Address: base + "workflows/" + rule.Workflow + "/"}
		for _, id := range rule.Newest {
			latest := ruleRun{validations.ShortID(id), base + "runs/" + id.String() + "/"}
			rows[i].Latest = append(rows[i].Latest, latest)
		}
	}
	return rows
}

// setupStep is a first step of an organization.
type setupStep struct {
	Text, Address string
	Done          bool
}

// setupSteps returns the first steps, or nil when all are made.
func (a *App) setupSteps(ctx context.Context, base string, orgID uuid.UUID, hasRun bool) ([]setupStep, error) {
	setup, err := a.Users.Setup(ctx, orgID)
	if err != nil {
		return nil, err
	}
	names, err := a.Workflows.Names(ctx, orgID)
	if err != nil {
		return nil, err
	}
	replayed, err := a.Keys.HasReplays(ctx, orgID)
	if err != nil {
		return nil, err
	}
	steps := []setupStep{
		{"Write a workflow", base + "workflows/", len(names) > 0},
		{"Create an API token", base + "tokens/", setup.HasToken},
		{"Start a run", base + "launch/", hasRun},
		{"Send a start twice with one key and see it replayed", "/docs/guides/idempotency/", replayed},
		{"Invite a colleague", base + "members/", setup.HasColleague},
	}
	if slices.ContainsFunc(steps, func(step setupStep) bool { return !step.Done }) {
		return steps, nil
	}
	return nil, nil
}

// quotaTile is the rest of the quota. Gauge is nil if there is no quota.
type quotaTile struct {
	Left  int64
	Gauge *pages.Gauge
	Text  string
	// Forecast says where the month leads to at the rate so far; "" on its first day.
	Forecast string
	// UsedUp and NearlyUsedUp select the banner.
	UsedUp, NearlyUsedUp bool
	ResetsAt             time.Time
}

func newQuotaTile(usage quota.PeriodUsage) quotaTile {
	if usage.Quota == nil {
		return quotaTile{Text: pages.Counted(usage.Used, "run") + " used"}
	}
	tile := quotaTile{
		Left: usage.Left(), Gauge: &pages.Gauge{Used: usage.Used, Limit: *usage.Quota},
		Text:     fmt.Sprintf("%s of %s runs used", pages.Number(usage.Used), pages.Number(*usage.Quota)),
		ResetsAt: usage.ResetsAt(),
	}
	tile.UsedUp, tile.NearlyUsedUp = tile.Gauge.Tone() == "fail", tile.Gauge.Tone() == "warn"
	if !tile.UsedUp {
		tile.Forecast = forecast(usage)
	}
	return tile
}

// forecast extends the usage so far to the end of the month.
func forecast(usage quota.PeriodUsage) string {
	// Today counts as a whole day, so that a busy morning promises no busy month.
	days := int64(usage.Today.Sub(usage.Period)/day) + 1
	month := int64(usage.ResetsAt().Sub(usage.Period) / day)
	if days < 2 || usage.Used == 0 {
		return ""
	}
	if expected := usage.Used * month / days; expected <= *usage.Quota {
		return "at this rate about " + pages.Number(expected) + " by " + usage.ResetsAt().Format("2 Jan")
	}
	end := usage.Period.AddDate(0, 0, int(*usage.Quota*days/usage.Used))
	return "at this rate used up about " + end.Format("2 Jan")
}
