package remote

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/cli"
	"github.com/simplevalidations/simplevalidations/core/client"
	"github.com/simplevalidations/simplevalidations/validations/engines"
	"github.com/simplevalidations/simplevalidations/validations/formats"
)

func webhooksCommand(s Env) *cobra.Command {
	group := &cobra.Command{Use: "webhooks", Short: "Send events to webhooks, and listen to events"}
	group.AddCommand(
		listing[api.Webhook]{
			short: "List the webhooks of the token's organization, newest first", read: (*client.Client).Webhooks,
			header: []string{"ID", "STATE", "SIGNATURE", "URL", "EVENTS", "DESCRIPTION"},
			row: func(w api.Webhook) []string {
				types := strings.Trim(fmt.Sprint(w.EventTypes), "[]")
				return []string{w.ID, string(w.State), string(w.Signature), w.URL, types, w.Description}
			},
		}.command(s),
		setWebhookCommand(s),
		action(s, "delete WEBHOOK", "Delete a webhook, by id, with its deliveries", 1,
			func(ctx context.Context, service *client.Client, args []string) (string, error) {
				return "deleted " + args[0], service.DeleteWebhook(ctx, args[0])
			}),
		sendCommand(s), deliveriesCommand(s), listenCommand(s),
	)
	return group
}

func setWebhookCommand(s Env) *cobra.Command {
	var address, description, workflow, signature, headersFile string
	var events []string
	var enabled, rotate bool
	var command *cobra.Command
	command = action(s, "set WEBHOOK",
		"Create a webhook, by URL, and print its secret once, or change or rotate that of an id", 1,
		func(ctx context.Context, service *client.Client, args []string) (string, error) {
			types := make([]api.EventType, len(events))
			for i, name := range events {
				types[i] = api.EventType(name)
			}
			given := command.Flags().Changed
			headers, err := readHeaders(headersFile)
			if err != nil {
				return "", err
			}
			if strings.Contains(args[0], "/") {
				if given("new-url") || given("enabled") || rotate {
					return "", misuse("--new-url, --enabled and --rotate change a webhook that is named by its id")
				}
				made, err := service.CreateWebhook(ctx, api.WebhookDraft{
					URL: args[0], Description: description, EventTypes: types, Workflow: api.Optional(workflow),
					Headers: headers, Signature: new(api.SignatureScheme(signature)),
				})
				return made.Secret, err
			}
			if given("signature") {
				return "", misuse("--signature is that of a new webhook, which is named by its URL")
			}
			change := api.WebhookChange{
				URL: ifGiven(given("new-url"), address), Description: ifGiven(given("description"), description),
				EventTypes: ifGiven(given("events"), types), Enabled: ifGiven(given("enabled"), enabled),
				Workflow: ifGiven(given("workflow"), api.Optional(workflow)),
				Headers:  ifGiven(given("headers"), headers),
			}
			if rotate {
				if change != (api.WebhookChange{}) {
					return "", misuse("--rotate changes the secret and nothing else")
				}
				rotated, err := service.RotateWebhook(ctx, args[0])
				return rotated.Secret, err
			}
			changed, err := service.ChangeWebhook(ctx, args[0], change)
			return "changed " + changed.ID, err
		})
	flags := command.Flags()
	flags.StringVar(&address, "new-url", "", "the new URL of a webhook")
	flags.StringVar(&description, "description", "", "a description for people")
	flags.StringSliceVar(&events, "events", nil,
		"the `types` of its events, like run.completed,run.canceled (default: all)")
	flags.StringVar(&workflow, "workflow", "", "the id of the workflow whose events it gets (default: all)")
	flags.StringVar(&headersFile, "headers", "",
		"a `file` with headers of its requests, one a line like Authorization: Bearer abc; an empty one removes them")
	flags.StringVar(&signature, "signature", string(api.SignatureSchemeV1), "v1 for HMAC-SHA256, v1a for Ed25519")
	flags.BoolVar(&enabled, "enabled", true, "whether it gets events")
	flags.BoolVar(&rotate, "rotate", false, "print a new secret once; the old one also signs for 24 hours")
	formats.CompleteFlag(command, "signature", api.SignatureSchemeV1, api.SignatureSchemeV1a)
	return command
}

// readHeaders reads the headers of a file; none where no file is named.
func readHeaders(file string) (map[string]any, error) {
	headers := make(map[string]any)
	if file == "" {
		return headers, nil
	}
	content, err := readSmall(file)
	for name, value := range engines.ReadHeaders(string(content)) {
		headers[name] = value
	}
	return headers, err
}

// ifGiven is the value of a flag that is given; what is not given stays as it is.
func ifGiven[T any](given bool, value T) *T {
	if !given {
		return nil
	}
	return &value
}

func sendCommand(s Env) *cobra.Command {
	var resend api.WebhookResend
	var key string
	var test, wait bool
	var command *cobra.Command
	command = action(s, "send WEBHOOK", "Send a webhook, by id, one event again, all since a time, or a test event", 1,
		func(ctx context.Context, service *client.Client, args []string) (string, error) {
			if test {
				if wait || command.Flags().Changed("event") || command.Flags().Changed("since") {
					return "", misuse("--test sends a new event: leave --event, --since and --wait out")
				}
				event, err := service.TestWebhook(ctx, args[0], key)
				return event.ID, err
			}
			changed, err := service.ResendEvents(ctx, args[0], resend, key)
			if err != nil || !wait {
				return "sending again to " + changed.URL, err
			}
			return "sent again to " + changed.URL, awaitDeliveries(ctx, command.ErrOrStderr(), service, changed)
		})
	flags := command.Flags()
	flags.StringVar(&resend.Event, "event", "", "the id of the event")
	flags.TimeVar(&resend.Since.Time, "since", time.Time{}, []string{time.RFC3339, time.DateOnly},
		"all events since this `time`, like 2026-03-01 or 2026-03-01T09:30:00Z")
	flags.BoolVar(&test, "test", false, "a test event, whose id is printed")
	flags.StringVar(&key, "key", "", "the idempotency key (default: generated)")
	flags.BoolVar(&wait, "wait", false, "show the progress, and wait until no delivery waits for an attempt any more")
	return command
}

// awaitDeliveries waits until nothing is left to send to the webhook.
func awaitDeliveries(ctx context.Context, out io.Writer, service *client.Client, w api.Webhook) error {
	shown := newProgress(out)
	defer shown.close()
	for !w.Recovering.IsZero() || w.PendingDeliveries > 0 {
		if w.State == api.WebhookStateDisabled {
			return &cli.ExitError{Code: cli.ExitUnable, Reason: "the webhook is disabled: its deliveries wait"}
		}
		shown.left(w.URL, w.PendingDeliveries)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(listenEvery):
		}
		var err error
		if w, err = service.FindWebhook(ctx, w.ID); err != nil {
			return err
		}
	}
	return nil
}

func deliveriesCommand(s Env) *cobra.Command {
	var webhook string
	var filter client.DeliveryFilter
	command := listing[api.Delivery]{
		short: "List the deliveries of a webhook, by id, with their last attempts, newest first",
		read: func(service *client.Client) client.Pages[api.Delivery] {
			return service.Deliveries(webhook, filter)
		},
		header: []string{"EVENT", "TYPE", "AT", "STATE", "ATTEMPTS", "STATUS", "REASON"},
		row: func(d api.Delivery) []string {
			var last api.DeliveryAttempt
			if len(d.Attempts) > 0 {
				last = d.Attempts[0]
			}
			return []string{
				d.Event, string(d.Type), d.Timestamp.Format(time.RFC3339), string(d.State), strconv.Itoa(last.Number),
				strconv.Itoa(last.Status), last.Reason,
			}
		},
	}.command(s)
	list := command.RunE
	command.Use, command.Args = "deliveries WEBHOOK", cobra.ExactArgs(1)
	command.RunE = func(cmd *cobra.Command, args []string) error {
		webhook = args[0]
		return list(cmd, args)
	}
	command.Flags().StringVar(&filter.Event, "event", "", "only the delivery of the event with this id")
	command.Flags().StringVar((*string)(&filter.State), "state", "", "only pending, delivered or failed deliveries")
	formats.CompleteFlag(command, "state", api.DeliveryStatePending, api.DeliveryStateDelivered,
		api.DeliveryStateFailed)
	return command
}
