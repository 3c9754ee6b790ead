package remote

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/cli"
	"github.com/simplevalidations/simplevalidations/core/client"
	"github.com/simplevalidations/simplevalidations/validations/formats"
)

func runsCommand(s Env) *cobra.Command {
	group := &cobra.Command{Use: "runs", Short: "List, follow, cancel and rerun runs"}
	group.AddCommand(listRunsCommand(s), watchRunCommand(s), documentCommand(s), cancelRunCommand(s),
		rerunCommand(s))
	return group
}

func listRunsCommand(s Env) *cobra.Command {
	var filter client.RunFilter
	command := listing[api.Run]{
		short:  "List the runs of the token's organization, newest first",
		read:   func(service *client.Client) client.Pages[api.Run] { return service.Runs(filter) },
		header: []string{"ID", "STATE", "RESULT", "ERRORS", "WARNINGS", "WORKFLOW", "CREATED", "KEY"},
		row: func(run api.Run) []string {
			return []string{
				run.ID, string(run.State), string(run.Result), strconv.Itoa(run.Counts.Errors),
				strconv.Itoa(run.Counts.Warnings), run.WorkflowSlug, run.CreatedAt.Format(time.RFC3339),
				string(run.IdempotencyKey),
			}
		},
	}.command(s)
	bindRunFilter(command, &filter)
	return command
}

func bindRunFilter(command *cobra.Command, filter *client.RunFilter) {
	flags := command.Flags()
	flags.StringVar((*string)(&filter.State), "state", "", "only PENDING, RUNNING or COMPLETED runs")
	flags.StringVar((*string)(&filter.Result), "result", "", "only PASS, FAIL, ERROR, CANCELED or TIMED_OUT runs")
	flags.StringVar((*string)(&filter.Source), "source", "", "only runs started by API, DASHBOARD or CLI")
	flags.StringVar(&filter.Workflow, "workflow", "", "only runs of the workflow with this id or slug")
	flags.StringVar(&filter.Q, "q", "", "only runs whose key or document name contains this text")
	flags.StringVar(&filter.IdempotencyKey, "key", "", "only runs that were started with this idempotency key")
	layouts := []string{time.RFC3339, time.DateOnly}
	flags.TimeVar(&filter.Since, "since", time.Time{}, layouts,
		"only runs from this `time` on, like 2026-03-01 or 2026-03-01T09:30:00Z")
	flags.TimeVar(&filter.Until, "until", time.Time{}, layouts, "only runs before this `time`")
	formats.CompleteFlag(command, "state", api.RunStatePending, api.RunStateRunning, api.RunStateCompleted)
	formats.CompleteFlag(command, "result", api.RunResultPass, api.RunResultFail, api.RunResultError,
		api.RunResultCanceled, api.RunResultTimedOut)
	formats.CompleteFlag(command, "source", api.SourceAPI, api.SourceDashboard, api.SourceCLI)
}

// reporting is a command that shows what one run has found.
type reporting struct {
	connection
	output formats.Output
}

// show writes what the run has found and ends the command as the command run does.
func (r *reporting) show(cmd *cobra.Command, service *client.Client, run api.Run) error {
	shown, err := document(cmd.Context(), service, run, run.ID)
	if err != nil {
		return failure(cmd.Context(), err)
	}
	return conclude(r.Env, cmd, &r.output, run.WorkflowSlug, []formats.Document{shown})
}

func documentCommand(s Env) *cobra.Command {
	var output string
	command := calling(s, &cobra.Command{
		Use: "document RUN", Short: "Write the document of a run to standard output or to a file",
		Args: cobra.ExactArgs(1),
	}, func(ctx context.Context, service *client.Client, args []string) ([]byte, error) {
		return service.Document(ctx, args[0])
	}, func(cmd *cobra.Command, content []byte) error {
		if err := writeFile(cmd, output, content, documentMode); err != nil {
			return &cli.ExitError{Code: cli.ExitUnable, Reason: err.Error()}
		}
		return nil
	})
	command.Flags().StringVarP(&output, "output", "o", "", "the file to write (default: standard output)")
	return command
}

// documentMode lets only the owner read a document.
const documentMode = 0o600

func watchRunCommand(s Env) *cobra.Command {
	r := &reporting{connection: connection{Env: s}}
	var noWait bool
	var timeout time.Duration
	command := &cobra.Command{
		Use: "watch RUN", Short: "Follow a run until it ends and show its findings, with the exit codes of run",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return r.watch(cmd, args[0], noWait, timeout) },
	}
	command.Flags().BoolVar(&noWait, "no-wait", false, "show the findings so far")
	command.Flags().DurationVar(&timeout, "timeout", 0, "how long to wait (default: until it ends)")
	r.bind(command)
	r.output.Bind(command)
	return command
}

func (r *reporting) watch(cmd *cobra.Command, id string, noWait bool, timeout time.Duration) error {
	if err := r.output.Check(); err != nil {
		return misuse("%v", err)
	}
	told := newProgress(cmd.ErrOrStderr())
	defer told.close()
	service, err := r.authorized(client.WithOnRetry(told.retry))
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	run, err := service.Run(ctx, id)
	if err != nil {
		return failure(ctx, err)
	}
	if noWait {
		return r.show(cmd, service, run)
	}
	told.begin(id, 0)
	run, err = awaitRun(ctx, service, id, timeout, func(e client.Event) { told.event(e, len(run.Steps)) })
	told.close()
	if err != nil {
		return err
	}
	return r.show(cmd, service, run)
}

func cancelRunCommand(s Env) *cobra.Command {
	return action(s, "cancel RUN", "Cancel a run that has not ended", 1,
		func(ctx context.Context, service *client.Client, args []string) (string, error) {
			run, err := service.Cancel(ctx, args[0])
			return "canceled " + run.ID, err
		})
}

func rerunCommand(s Env) *cobra.Command {
	var key string
	command := action(s, "rerun RUN", "Start a new run with the document of an earlier one, and print its id", 1,
		func(ctx context.Context, service *client.Client, args []string) (string, error) {
			started, err := service.Rerun(ctx, args[0], key)
			return started.Run.ID, err
		})
	command.Flags().StringVar(&key, "key", "", "the idempotency key (default: generated)")
	return command
}
