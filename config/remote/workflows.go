package remote

import (
	"context"
	"errors"
	"io"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/cli"
	"github.com/simplevalidations/simplevalidations/core/client"
	"github.com/simplevalidations/simplevalidations/workflows/files"
)

func workflowsCommand(s Env) *cobra.Command {
	group := &cobra.Command{Use: "workflows", Short: "List workflows, and keep them as files"}
	group.AddCommand(listWorkflowsCommand(s), exportWorkflowCommand(s), importWorkflowCommand(s),
		lintWorkflowCommand(), bundleWorkflowCommand())
	return group
}

func listWorkflowsCommand(s Env) *cobra.Command {
	return listing[api.Workflow]{
		short: "List the workflows of the token's organization", read: (*client.Client).Workflows,
		header: []string{"SLUG", "VERSION", "STATE", "STEPS", "NAME"},
		row: func(w api.Workflow) []string {
			return []string{w.Slug, strconv.Itoa(w.Version), activity(w), strconv.Itoa(len(w.Steps)), w.Name}
		},
	}.command(s)
}

func activity(w api.Workflow) string {
	if w.IsActive {
		return "active"
	}
	return "inactive"
}

func exportWorkflowCommand(s Env) *cobra.Command {
	var version int
	command := calling(s, &cobra.Command{
		Use: "export WORKFLOW", Short: "Write a workflow as a YAML file to standard output", Args: cobra.ExactArgs(1),
	}, func(ctx context.Context, service *client.Client, args []string) ([]byte, error) {
		return service.ExportWorkflow(ctx, args[0], version)
	}, func(cmd *cobra.Command, file []byte) error { return writeFile(cmd, "", file, 0) })
	command.Flags().IntVar(&version, "workflow-version", 0, "the version (default: the latest)")
	return command
}

func importWorkflowCommand(s Env) *cobra.Command {
	var name, key string
	command := calling(s, &cobra.Command{
		Use:   "import FILE",
		Short: "Import a workflow file as a new workflow, or as the next version of the one with its slug",
		Args:  cobra.ExactArgs(1),
	}, func(ctx context.Context, service *client.Client, args []string) (api.WorkflowImport, error) {
		name = args[0]
		content, err := readSmall(name)
		if err != nil {
			return api.WorkflowImport{}, err
		}
		return service.ImportWorkflow(ctx, content, key)
	}, func(cmd *cobra.Command, imported api.WorkflowImport) error {
		w := imported.Workflow
		for _, warning := range w.Warnings {
			cmd.PrintErrf("warning: %s:%d:%d: %s %s\n",
				name, warning.Line, warning.Column, warning.Pointer, warning.Detail)
		}
		return cli.WriteTable(cmd.OutOrStdout(),
			[]string{imported.Outcome, w.Slug, "version " + strconv.Itoa(w.Version)})
	})
	command.Flags().StringVar(&key, "key", "", "the idempotency key (default: generated)")
	return command
}

// maxSmallFile is above what a service takes of a workflow file, which says so itself.
const maxSmallFile = 8 << 20

func readSmall(name string) ([]byte, error) {
	file, err := os.Open(name) //nolint:gosec // the caller's own file
	if err != nil {
		return nil, misuse("%v", err)
	}
	content, err := io.ReadAll(io.LimitReader(file, maxSmallFile))
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, misuse("%v", err)
	}
	return content, nil
}

func lintWorkflowCommand() *cobra.Command {
	return &cobra.Command{
		Use: "lint FILE...", Short: "Check workflow files for errors, without a server",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			parser, err := files.NewParser()
			if err != nil {
				return err
			}
			var problems []error
			for _, name := range args {
				file, err := parser.ReadFile(cmd.Context(), name, cmd.ErrOrStderr())
				if err == nil {
					err = cli.WriteTable(cmd.OutOrStdout(), []string{name, file.Slug, "ok"})
				}
				problems = append(problems, err)
			}
			return errors.Join(problems...)
		},
	}
}
