package remote

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/cli"
	"github.com/simplevalidations/simplevalidations/core/client"
	"github.com/simplevalidations/simplevalidations/validations/engines"
	"github.com/simplevalidations/simplevalidations/validations/formats"
)

// document reads all findings of a run and turns it into a document of a report.
func document(ctx context.Context, c *client.Client, run api.Run, name string) (formats.Document, error) {
	found := make(map[string][]engines.Finding)
	for finding, err := range c.Findings(run.ID).All(ctx) {
		if err != nil {
			return formats.Document{}, err
		}
		found[finding.StepID] = append(found[finding.StepID], engines.Finding{
			Severity: engines.Severity(finding.Severity), Code: finding.Code, Message: finding.Message,
			Path: finding.Path, Line: finding.Line, Column: finding.Column, Row: finding.Row, Excerpt: finding.Excerpt,
			Count: finding.Count, SampleRows: finding.SampleRows, AssertionID: string(finding.AssertionID),
			Truncated: finding.Truncated,
		})
	}
	shown := formats.Document{Name: name, Run: run.ID, Result: run.Result}
	switch {
	case !run.Completed():
		shown.Result, shown.Error = api.RunResult(run.State), "The run is not completed yet."
	case run.Result != api.RunResultPass && run.Result != api.RunResultFail:
		// What happened, and what to do about it.
		shown.Error = strings.TrimSpace(run.Error + " " + run.UserFriendlyError)
	}
	for _, step := range run.Steps {
		shown.Steps = append(shown.Steps, shownStep(step, found[step.StepID]))
	}
	return shown, nil
}

func shownStep(step api.Step, findings []engines.Finding) formats.Step {
	shown := formats.Step{
		ID: step.StepID, Name: step.Name, Status: step.Status, Findings: findings, Counts: step.Counts,
	}
	if !step.Ended() || step.Status == api.StepStatusSkipped {
		shown.Status, shown.Note = api.StepStatusSkipped, cmp.Or(step.Error, "it was not executed")
	}
	listed := 0
	for _, finding := range findings {
		listed += max(1, finding.Count)
		shown.Truncated = shown.Truncated || finding.Truncated
	}
	counted := shown.Counts.Errors + shown.Counts.Warnings + shown.Counts.Infos
	shown.Truncated = shown.Truncated || counted > listed
	return shown
}

// report writes the findings of runs.
func report(
	s Env, cmd *cobra.Command, output *formats.Output, workflow string, all []formats.Document,
) error {
	verdict := formats.Verdict{Program: s.Version, Workflow: workflow, At: time.Now(), Documents: all}
	terminal := formats.Terminal{
		Stdout: cmd.OutOrStdout(), Environ: s.Getenv, Interactive: cli.IsTerminal(cmd.OutOrStdout()),
	}
	if err := output.Write(verdict, terminal); err != nil {
		return &cli.ExitError{Code: cli.ExitUnable, Reason: err.Error()}
	}
	return nil
}

// conclude writes the findings of runs and ends the command with the exit code of their verdict.
func conclude(
	s Env, cmd *cobra.Command, output *formats.Output, workflow string, all []formats.Document,
) error {
	if err := report(s, cmd, output, workflow, all); err != nil {
		return err
	}
	code := 0
	for _, shown := range all {
		switch shown.Result {
		case api.RunResultPass, api.RunResultFail:
		case api.RunResult(api.RunStatePending), api.RunResult(api.RunStateRunning):
			code = max(code, cli.ExitGoesOn)
		default:
			code = max(code, cli.ExitUnable)
		}
	}
	if code == 0 && output.Failed(formats.Verdict{Documents: all}) {
		code = cli.ExitFailed
	}
	if code == 0 {
		return nil
	}
	return &cli.ExitError{Code: code}
}
