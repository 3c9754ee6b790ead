package cmd

import (
	"context"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/simplevalidations/simplevalidations/config"
	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/cli"
	"github.com/simplevalidations/simplevalidations/core/idempotency/admin"
	"github.com/simplevalidations/simplevalidations/validations"
)

// runListLimit is how many runs are listed unless --limit says otherwise.
const runListLimit = 50

func (p Program) listRunsCommand() *cobra.Command {
	var org string
	var filter validations.RunFilter
	var since, until time.Time
	cursor := core.Cursor{}
	command := &cobra.Command{
		Use: "list --org SLUG", Short: "List an organization's runs, newest first", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !since.IsZero() {
				filter.Since = since.Format(time.RFC3339)
			}
			if !until.IsZero() {
				filter.Until = until.Format(time.RFC3339)
			}
			if err := checkFilter(filter); err != nil {
				return err
			}
			if cursor.Size < 1 || cursor.Size > core.MaxPageSize {
				return &config.UsageError{Reason: "--limit is from 1 to " + strconv.Itoa(core.MaxPageSize)}
			}
			return p.withTenant(cmd.Context(), org, func(ctx context.Context, of tenant) error {
				runs, err := of.Runs.List(ctx, of.who.OrgID, filter, cursor)
				if err != nil {
					return err
				}
				return p.printRuns(runs[:min(len(runs), cursor.Size)])
			})
		},
	}
	command.Flags().StringVar(&org, "org", "", "the organization's slug")
	command.Flags().StringVar(&filter.State, "state", "", "only PENDING, RUNNING or COMPLETED runs")
	command.Flags().StringVar(&filter.Result, "result", "", "only PASS, FAIL, ERROR, CANCELED or TIMED_OUT runs")
	command.Flags().StringVar(&filter.Source, "source", "", "only runs started by API, DASHBOARD or CLI")
	command.Flags().StringVar(&filter.Workflow, "workflow", "", "only runs of the workflow with this id or slug")
	command.Flags().StringVar(&filter.Search, "q", "", "only runs whose key or document name contains this text")
	command.Flags().StringVar(&filter.IdempotencyKey, "key", "", "only runs that were started with this key")
	layouts := []string{time.RFC3339, time.DateOnly}
	command.Flags().TimeVar(&since, "since", time.Time{}, layouts,
		"only runs from this `time` on, like 2026-03-01 or 2026-03-01T09:30:00Z")
	command.Flags().TimeVar(&until, "until", time.Time{}, layouts, "only runs before this `time`")
	command.Flags().IntVar(&cursor.Size, "limit", runListLimit, "maximum number of runs")
	requireFlags(command, "org")
	return command
}

func (p Program) printRuns(runs []validations.Run) error {
	rows := [][]string{{"ID", "STATE", "RESULT", "ATTEMPTS", "WORKFLOW", "CREATED", "ERROR"}}
	for _, run := range runs {
		rows = append(rows, []string{
			run.ID.String(), string(run.State), string(run.Result), strconv.Itoa(run.Attempts),
			run.WorkflowSlug, api.At(run.CreatedAt).String(), run.Error,
		})
	}
	return cli.WriteTable(p.Stdout, rows...)
}

func (p Program) requeueRunCommand() *cobra.Command {
	return p.onOne("requeue ID --org SLUG", "Queue a stuck run again",
		func(ctx context.Context, of tenant, id uuid.UUID) error {
			return report(p.Stdout, of.Executor.Requeue(ctx, of.who, id, ""), "requeued %s\n", id)
		})
}

func (p Program) purgeCommand() *cobra.Command {
	return &cobra.Command{
		Use: "purge", Short: "Delete expired keys, and documents and findings after their retention time", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.withProject(cmd.Context(), func(ctx context.Context, in opened) error {
				keys, err := admin.Purge(ctx, in.db, config.PurgeBatch)
				if err := report(p.Stdout, err, "deleted %s\n", core.Plural(int(keys), "expired key")); err != nil {
					return err
				}
				purged, err := in.Runs.Purge(ctx, in.settings.Retention())
				err = report(p.Stdout, err, "deleted the documents of %s and the findings of %s\n",
					core.Plural(int(purged.Contents), "run"), core.Plural(int(purged.Findings), "run"))
				if err != nil || in.objects == nil {
					return err
				}
				swept, err := in.objects.Sweep(ctx, in.db)
				return report(p.Stdout, err, "deleted %s from the object store\n", core.Plural(int(swept), "object"))
			})
		},
	}
}
