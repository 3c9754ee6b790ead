package remote

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/simplevalidations/simplevalidations/core/cli"
	"github.com/simplevalidations/simplevalidations/core/client"
	"github.com/simplevalidations/simplevalidations/core/mediatype"
	"github.com/simplevalidations/simplevalidations/validations/formats"
)

func smokeCommand(s Env) *cobra.Command {
	c := connection{Env: s}
	var choice smokeChoice
	command := &cobra.Command{
		Use:   "smoke",
		Short: "Start a run, send the same request again, and check that there is one run; it counts as one run",
		Long: "Start a run, send the same request again with its key, and check that there is one run. Without\n" +
			"--workflow it runs the only active workflow, and without --file a small document of a type that the\n" +
			"workflow accepts. The verdict does not matter. The run counts as one run.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			api, err := c.authorized()
			if err != nil {
				return err
			}
			start, err := choice.request(cmd.Context(), api)
			if err != nil {
				return failure(cmd.Context(), err)
			}
			run, err := smoke(cmd.Context(), api, start)
			if err != nil {
				return failure(cmd.Context(), err)
			}
			return cli.WriteTable(cmd.OutOrStdout(),
				[]string{"ok: one run, replayed once, completed with " + string(run.Result), run.ID})
		},
	}
	command.Flags().StringVar(&choice.workflow, "workflow", "", "the workflow to run (default: the only active one)")
	command.Flags().StringVar(&choice.file, "file", "",
		"the document to send (default: a small one of a type that the workflow accepts)")
	command.Flags().StringVar(&choice.mediaType, "content-type", "",
		"the media type of the document (default: by file extension)")
	c.bind(command)
	return command
}

// smokeChoice is what a smoke test runs. Empty members are chosen for the workflows of the organization.
type smokeChoice struct {
	workflow, file, mediaType string
}

func (s smokeChoice) request(ctx context.Context, api *client.Client) (client.StartRequest, error) {
	workflow, err := s.find(ctx, api)
	if err != nil {
		return client.StartRequest{}, err
	}
	start := client.StartRequest{Workflow: workflow.ID, MediaType: s.mediaType, Filename: filepath.Base(s.file)}
	var content []byte
	if s.file != "" {
		content, err = readSmall(s.file)
	} else {
		start.Filename = "smoke"
		start.MediaType, content, err = smallDocument(workflow, s.mediaType)
	}
	start.GetContent = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }
	return start, err
}

// find returns the workflow that was named, or the only active one: another might call external validators.
func (s smokeChoice) find(ctx context.Context, api *client.Client) (client.Workflow, error) {
	if s.workflow != "" {
		return api.Workflow(ctx, s.workflow, 0)
	}
	var active []client.Workflow
	for workflow, err := range api.Workflows().All(ctx) {
		if err != nil {
			return client.Workflow{}, err
		}
		if workflow.IsActive {
			active = append(active, workflow)
		}
	}
	switch len(active) {
	case 0:
		return client.Workflow{}, misuse("there is no active workflow to run")
	case 1:
		return active[0], nil
	}
	slugs := make([]string, len(active))
	for i, workflow := range active {
		slugs[i] = workflow.Slug
	}
	return client.Workflow{}, misuse("set --workflow to the one to run: %s", formats.Clean(strings.Join(slugs, ", ")))
}

// smallDocument is a document of a type that the workflow accepts, or of the type that was asked for.
func smallDocument(workflow client.Workflow, asked string) (string, []byte, error) {
	for _, document := range [][2]string{
		{mediatype.JSON, "{}"},
		{mediatype.CSV, "smoke\ntest\n"},
		{mediatype.XML, "<smoke/>"},
		{mediatype.YAML, "smoke: test\n"},
		{mediatype.JSONLines, "{}\n"},
		{mediatype.TSV, "smoke\ntest\n"},
		{mediatype.Text, "smoke test\n"},
	} {
		if asked != "" && mediatype.Canonical(asked) != document[0] {
			continue
		}
		if mediaType, ok := mediatype.Choose(workflow.Accepts, document[:1]); ok {
			return mediaType, []byte(document[1]), nil
		}
	}
	return "", nil, misuse("set --file to a document for %s, which accepts %s",
		formats.Clean(workflow.Slug), formats.Clean(strings.Join(workflow.Accepts, ", ")))
}

// smoke starts a run twice with one key, and waits for the one run.
func smoke(ctx context.Context, api *client.Client, start client.StartRequest) (client.Run, error) {
	started, err := api.Start(ctx, start)
	if err != nil {
		return client.Run{}, err
	}
	start.Key = started.Key
	again, err := api.Start(ctx, start)
	if err != nil {
		return client.Run{}, err
	}
	if !again.Replayed || again.Run.ID != started.Run.ID {
		return client.Run{}, broken("the second request was not answered with the run of the first, %s", started.Run.ID)
	}
	count := 0
	for _, err := range api.Runs(client.RunFilter{IdempotencyKey: started.Key}).All(ctx) {
		if err != nil {
			return client.Run{}, err
		}
		count++
	}
	if count != 1 {
		return client.Run{}, broken("there are %d runs with the key %s, not one", count, started.Key)
	}
	return api.Wait(ctx, started.Run.ID, nil)
}

func broken(format string, args ...any) error {
	return &cli.ExitError{Code: cli.ExitFailed, Reason: fmt.Sprintf(format, args...)}
}
