package remote

import (
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/client"
	"github.com/simplevalidations/simplevalidations/validations/formats"
)

func requestsCommand(s Env) *cobra.Command {
	group := &cobra.Command{Use: "requests", Short: "Look up requests, including those that were refused"}
	group.AddCommand(listRequestsCommand(s))
	return group
}

// clockFormat is a time to the millisecond, in which retries can be told apart.
const clockFormat = "2006-01-02T15:04:05.000Z07:00"

func listRequestsCommand(s Env) *cobra.Command {
	var filter client.RequestFilter
	command := listing[api.LoggedRequest]{
		short:  "List the requests of the token's organization, newest first",
		read:   func(service *client.Client) client.Pages[api.LoggedRequest] { return service.Requests(filter) },
		header: []string{"ID", "AT", "STATUS", "CODE", "REQUEST", "MS", "REPLAY OF", "KEY"},
		row: func(r api.LoggedRequest) []string {
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

func milliseconds(r api.LoggedRequest) string {
	return strconv.FormatFloat(r.DurationMS, 'f', 1, 64)
}

// replayOf is the request whose answer was sent again.
func replayOf(r api.LoggedRequest) string {
	if !r.Replayed {
		return ""
	}
	return string(r.OriginalRequestID)
}
