package remote

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/cli"
	"github.com/simplevalidations/simplevalidations/core/client"
	"github.com/simplevalidations/simplevalidations/validations/formats"
)

const (
	// listenEvery is the pause between two looks for events.
	listenEvery = time.Second
	// forwardTimeout is how long a receiver has to answer, as webhooks have it.
	forwardTimeout = 15 * time.Second
	// secretVariable is the variable of the environment with the secret that signs what is forwarded.
	secretVariable = "SV_WEBHOOK_SECRET" //nolint:gosec // the name of the variable
	secretPrefix   = "whsec_"
	// secretBytes is the length of a new secret, and minSecretBytes that of the shortest one by Standard Webhooks.
	secretBytes, minSecretBytes = 32, 24
)

// listening is one use of the command listen.
type listening struct {
	connection
	command   *cobra.Command
	client    *client.Client
	state     string
	forwardTo string
	asJSON    bool
	// after is the id of the last event that was taken; empty before the first event of the organization.
	after  string
	secret []byte
}

func listenCommand(s Env) *cobra.Command {
	l := &listening{connection: connection{Env: s}}
	l.command = &cobra.Command{
		Use: "listen", Short: "Write events as they happen, and forward them to a program on this machine",
		Long: `Write events as they happen, each as one line, until the command is interrupted.

The service needs no way to this machine: the command asks for new events every second. It begins with what happens from
now on, behind the event of --after, or behind the event in the file of --state. That file has the last event that was
written and forwarded, so that none is missed while the command does not run; an event may come twice.

With --forward-to each event is posted to a URL as a webhook gets it, and again until it is answered with 2xx. It is
signed with the secret whsec_... in ` + secretVariable + `, or with a new one, which is shown.

Events are there while a webhook of the organization wants them, or all of them where it keeps a log of events.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return l.listen(cmd.Context()) },
	}
	flags := l.command.Flags()
	flags.StringVar(&l.after, "after", "", "the id of an event to begin behind (default: the newest one)")
	flags.StringVar(&l.state, "state", "", "the file that keeps the last event, to go on there")
	flags.StringVar(&l.forwardTo, "forward-to", "",
		"the `URL` that events are posted to, like http://localhost:3000/hooks")
	flags.BoolVar(&l.asJSON, "json", false, "write each event as a line of JSON")
	l.bind(l.command)
	return l.command
}

func (l *listening) listen(ctx context.Context) error {
	if err := l.prepare(); err != nil {
		return err
	}
	var err error
	if l.client, err = l.authorized(); err != nil {
		return err
	}
	if err := l.begin(ctx); err != nil {
		return failure(ctx, err)
	}
	for said := ""; ; {
		err := failure(ctx, l.take(ctx))
		exit, _ := errors.AsType[*cli.ExitError](err)
		switch {
		case ctx.Err() != nil:
			return &cli.ExitError{Code: cli.ExitInterrupted}
		case err == nil:
			said = ""
		case exit.Code != cli.ExitUnable && exit.Code != cli.ExitUnreachable && exit.Code != cli.ExitLimited:
			return err
		case exit.Reason != said:
			said = exit.Reason
			l.command.PrintErrln(said + "; trying again")
		}
		select {
		case <-ctx.Done():
		case <-time.After(listenEvery):
		}
	}
}

// prepare reads or makes the secret.
func (l *listening) prepare() error {
	if l.forwardTo == "" {
		return nil
	}
	target, err := url.Parse(l.forwardTo)
	if err != nil || target.Host == "" || target.Scheme != "http" && target.Scheme != "https" {
		return misuse("--forward-to is a URL like http://localhost:3000/hooks")
	}
	if given := l.Getenv(secretVariable); given != "" {
		text, found := strings.CutPrefix(given, secretPrefix)
		l.secret, err = base64.StdEncoding.DecodeString(text)
		if err != nil || !found || len(l.secret) < minSecretBytes {
			return misuse("%s is not %s and a key in base64", secretVariable, secretPrefix)
		}
		return nil
	}
	l.secret = make([]byte, secretBytes)
	_, _ = rand.Read(l.secret) // It never returns an error.
	l.command.PrintErrln("forwarded events are signed with the secret",
		secretPrefix+base64.StdEncoding.EncodeToString(l.secret))
	return nil
}

// begin finds the event to begin behind, and keeps it.
func (l *listening) begin(ctx context.Context) error {
	if l.state != "" {
		kept, err := os.ReadFile(l.state)
		if err == nil {
			l.after = strings.TrimSpace(string(kept))
			return nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return misuse("read the last event: %v", err)
		}
	}
	if l.after == "" {
		for newest, err := range l.client.AllEvents(client.AllEventFilter{Last: 1}).All(ctx) {
			if err != nil {
				return err
			}
			l.after = newest.ID
		}
	}
	return l.keep()
}

// keep has the last event on the disk before it returns.
func (l *listening) keep() error {
	if l.state == "" {
		return nil
	}
	if err := cli.WriteDurably(l.state, []byte(l.after+"\n"), os.Rename); err != nil {
		return misuse("keep the last event: %v", err)
	}
	return nil
}

// take forwards and writes the events behind the last one.
func (l *listening) take(ctx context.Context) error {
	for event, err := range l.client.AllEvents(client.AllEventFilter{After: l.after}).All(ctx) {
		if errors.Is(err, api.CodeNotFound) {
			return misuse("there is no event %s any more: begin without --after and --state, or with others", l.after)
		}
		if err != nil {
			return err
		}
		if err := l.forward(ctx, event); err != nil {
			return fmt.Errorf("event %s was not forwarded: %w", event.ID, err)
		}
		if err := l.write(event); err != nil {
			return &cli.ExitError{Code: cli.ExitFailed, Reason: err.Error()}
		}
		l.after = event.ID
		if err := l.keep(); err != nil {
			return err
		}
	}
	return nil
}

func (l *listening) write(event api.Event) error {
	if l.asJSON {
		return json.NewEncoder(l.command.OutOrStdout()).Encode(event)
	}
	about, _ := event.Data["url"].(string)
	line := strings.Join([]string{event.Timestamp.Format(clockFormat), string(event.Type), event.ID, about}, " ")
	_, err := fmt.Fprintln(l.command.OutOrStdout(), formats.Clean(line))
	return err
}

// forward posts an event as a webhook gets it.
func (l *listening) forward(ctx context.Context, event api.Event) error {
	if l.forwardTo == "" {
		return nil
	}
	body, err := json.Marshal(event)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, l.forwardTo, bytes.NewReader(body))
	if err != nil {
		return err
	}
	core.SignWebhook(request.Header, api.SignatureSchemeV1, event.ID, time.Now(), body, l.secret)
	receiver := &http.Client{
		Timeout:       forwardTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	response, err := receiver.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // Nothing more is wanted of it.
	if response.StatusCode < http.StatusOK || response.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("%s answered with status %d", request.URL.Redacted(), response.StatusCode)
	}
	return nil
}
