package remote

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/simplevalidations/simplevalidations/core/cli"
	"github.com/simplevalidations/simplevalidations/core/client"
	"github.com/simplevalidations/simplevalidations/docs"
)

func smokeCommand(s Env) *cobra.Command {
	c := connection{Env: s}
	var workflow, mediaType, file string
	command := &cobra.Command{
		Use:   "smoke",
		Short: "Start a run, send the same request again, and check that there is one run; it counts as one run",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			content, err := docs.Sample("good/meter-readings.csv")
			if file != "" {
				content, err = readSmall(file)
			}
			if err != nil {
				return err
			}
			api, err := c.authorized()
			if err != nil {
				return err
			}
			run, err := smoke(cmd.Context(), api, client.StartRequest{
				Workflow: workflow, MediaType: mediaType, Filename: "smoke",
				GetContent: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil },
			})
			if err != nil {
				return failure(cmd.Context(), err)
			}
			return cli.WriteTable(cmd.OutOrStdout(),
				[]string{"ok: one run, replayed once, completed with " + string(run.Result), run.ID})
		},
	}
	command.Flags().StringVar(&workflow, "workflow", "meter-readings", "the workflow to run")
	command.Flags().StringVar(&file, "file", "", "the document to send (default: a sample of meter readings)")
	command.Flags().StringVar(&mediaType, "content-type", "text/csv", "the media type of the document")
	c.bind(command)
	return command
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
	for _, err := range api.Runs(ctx, client.RunFilter{Key: started.Key}) {
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
