package remote

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/simplevalidations/simplevalidations/core/cli"
	"github.com/simplevalidations/simplevalidations/core/client"
	"github.com/simplevalidations/simplevalidations/validations/formats"
)

func requestsCommand(s Env) *cobra.Command {
	group := &cobra.Command{Use: "requests", Short: "Look up requests, including those that were refused"}
	group.AddCommand(listRequestsCommand(s), showRequestCommand(s))
	return group
}

// clockFormat is a time to the millisecond, in which retries can be told apart.
const clockFormat = "2006-01-02T15:04:05.000Z07:00"

func listRequestsCommand(s Env) *cobra.Command {
	var filter client.RequestFilter
	command := listing[client.LoggedRequest]{
		short:  "List the requests of the token's organization, newest first",
		read:   func(api *client.Client) client.Pages[client.LoggedRequest] { return api.Requests(filter) },
		header: []string{"ID", "AT", "STATUS", "CODE", "REQUEST", "MS", "REPLAY OF", "KEY"},
		row: func(r client.LoggedRequest) []string {
			return []string{
				r.ID, r.At.Format(clockFormat), strconv.Itoa(r.Status), string(r.Code), r.Method + " " + r.Path,
				milliseconds(r), replayOf(r), string(r.Key),
			}
		},
	}.command(s)
	flags := command.Flags()
	flags.StringVar(&filter.Status, "status", "", "only requests answered with 2xx, 3xx, 4xx or 5xx")
	flags.StringVar(&filter.Code, "code", "", "only requests that were refused with this error code")
	flags.StringVar(&filter.Key, "key", "", "only requests with this idempotency key")
	flags.StringVar(&filter.Token, "token", "", "only requests with the token of this id")
	flags.StringVar(&filter.Run, "run", "", "only requests that have started the run of this id, or were about it")
	layouts := []string{time.RFC3339, time.DateOnly}
	flags.TimeVar(&filter.Since, "since", time.Time{}, layouts,
		"only requests from this `time` on, like 2026-03-01 or 2026-03-01T09:30:00Z")
	flags.TimeVar(&filter.Until, "until", time.Time{}, layouts, "only requests before this `time`")
	formats.CompleteFlag(command, "status", "2xx", "3xx", "4xx", "5xx")
	return command
}

func milliseconds(r client.LoggedRequest) string {
	return strconv.FormatFloat(r.DurationMS, 'f', 1, 64)
}

// replayOf is the request whose answer was sent again.
func replayOf(r client.LoggedRequest) string {
	if !r.Replayed {
		return ""
	}
	return string(r.OriginalRequestID)
}

func showRequestCommand(s Env) *cobra.Command {
	c := connection{Env: s}
	var asJSON bool
	command := &cobra.Command{
		Use: "show ID", Short: "Show a request with its headers and the problem it was answered with",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			api, err := c.authorized()
			if err != nil {
				return err
			}
			found, err := api.Request(cmd.Context(), args[0])
			if err != nil {
				return failure(cmd.Context(), err)
			}
			if asJSON {
				return writeJSON(cmd, struct {
					SchemaVersion int `json:"schema_version"`
					client.LoggedRequestDetail
				}{schemaVersion, found})
			}
			return writeRequest(cmd, found)
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	c.bind(command)
	return command
}

func writeRequest(cmd *cobra.Command, r client.LoggedRequestDetail) error {
	rows := [][]string{
		{"at", r.At.Format(clockFormat)},
		{"request", r.Method + " " + r.Path},
		{"status", strconv.Itoa(r.Status) + " " + string(r.Code)},
		{"took", milliseconds(r.LoggedRequest) + " ms"},
		{"request id", r.RequestID},
		{"replay of", replayOf(r.LoggedRequest)},
		{"key", string(r.Key)},
		{"run", string(r.Run)},
		{"token", first(string(r.Token), "none (dashboard)")},
		{"address", string(r.Address)},
		{"body", fmt.Sprintf("%d bytes read %s", r.BodySize, r.BodySHA256)},
	}
	for _, header := range r.Headers {
		value := header.Value
		if header.Hidden {
			value = "(not kept)"
		}
		rows = append(rows, []string{"header", header.Name + ": " + value})
	}
	if r.Problem != nil {
		rows = append(rows, []string{"problem", r.Problem.Detail})
		for _, differing := range r.Problem.Differs {
			rows = append(rows, []string{"differs", differing})
		}
		for _, field := range r.Problem.Errors {
			rows = append(rows, []string{"error", first(field.Pointer, field.Parameter) + " " + field.Detail})
		}
	}
	return cli.WriteTable(cmd.OutOrStdout(), rows...)
}
