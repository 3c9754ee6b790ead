package clients

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"iter"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/client"
)

// goDriver is the driver of the Go client. It works in the process of the tests.
type goDriver struct {
	mu      sync.Mutex
	clients map[clientSettings]*client.Client
}

type clientSettings struct {
	baseURL, token string
	options        Options
}

func newGoDriver() *goDriver {
	return &goDriver{clients: make(map[clientSettings]*client.Client)}
}

// Close ends the connections.
func (d *goDriver) Close() error { return nil }

// Do makes the call.
func (d *goDriver) Do(ctx context.Context, call Call) (Outcome, error) {
	c, err := d.client(clientSettings{call.BaseURL, call.Token, call.Options})
	if err != nil {
		return Outcome{}, err
	}
	o := &Outcome{ID: call.ID}
	err = o.make(ctx, c, call)
	if err != nil {
		o.fail(err)
	}
	o.OK = err == nil
	return *o, nil
}

func (d *goDriver) client(settings clientSettings) (*client.Client, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if c, known := d.clients[settings]; known {
		return c, nil
	}
	o := settings.options
	milliseconds := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	c, err := client.New(settings.baseURL, client.WithToken(settings.token),
		client.WithHTTPClient(&http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}}),
		client.WithRetries(client.Retries{
			Attempts: o.Attempts, MinWait: milliseconds(o.MinWaitMS), MaxWait: milliseconds(o.MaxWaitMS),
			Budget: milliseconds(o.BudgetMS), Attempt: milliseconds(o.AttemptTimeoutMS),
		}))
	if err != nil {
		return nil, err
	}
	d.clients[settings] = c
	return c, nil
}

func (o *Outcome) make(ctx context.Context, c *client.Client, call Call) error {
	switch call.Op {
	case "start", "run":
		return o.start(ctx, c, call)
	case "rerun":
		key, err := keyOf(call.Args)
		if err != nil {
			return err
		}
		started, err := c.Rerun(ctx, call.Args.RunID, key)
		o.started(started)
		return err
	case "wait":
		run, err := c.Wait(ctx, call.Args.RunID, o.event)
		o.run(run)
		return err
	case "get":
		run, err := c.Run(ctx, call.Args.RunID)
		o.run(run)
		return err
	case "cancel":
		run, err := c.Cancel(ctx, call.Args.RunID)
		o.run(run)
		return err
	case "findings":
		return list(o, c.Findings(call.Args.RunID).All(ctx), func(f api.Finding) string { return f.ID })
	case "list_runs":
		return list(o, c.Runs(client.RunFilter{}).All(ctx), func(r api.Run) string { return r.ID })
	case "list_workflows":
		return list(o, c.Workflows().All(ctx), func(w api.Workflow) string { return w.ID })
	case "me":
		me, err := c.Me(ctx)
		o.Items = []string{me.ID}
		return err
	case "verify":
		header := make(http.Header)
		for name, value := range call.Args.Webhook.Headers {
			header.Set(name, value)
		}
		receiver := client.WebhookReceiver{
			Secrets: call.Args.Webhook.Secrets, Now: func() time.Time { return time.Unix(call.Args.Webhook.Now, 0) },
		}
		event, err := receiver.Verify(header, []byte(call.Args.Webhook.Body))
		o.Items = []string{string(event.Type)}
		return err
	default:
		return errors.New("there is no operation " + call.Op)
	}
}

func (o *Outcome) start(ctx context.Context, c *client.Client, call Call) error {
	key, err := keyOf(call.Args)
	if err != nil {
		return err
	}
	request := client.StartRequest{
		Workflow: call.Args.Workflow, Version: call.Args.Version, Key: key, Filename: call.Args.Filename,
		MediaType: call.Args.MediaType, Name: call.Args.Name, ShortDescription: call.Args.ShortDescription,
		Metadata: call.Args.Metadata,
	}
	if call.Args.File != "" {
		file, err := os.Open(call.Args.File)
		if err != nil {
			return err
		}
		defer file.Close()
		request.Content = file
	} else {
		content, err := base64.StdEncoding.DecodeString(call.Args.ContentBase64)
		if err != nil {
			return err
		}
		request.Content = bytes.NewReader(content)
	}
	started, err := c.Start(ctx, request)
	if err != nil {
		return err
	}
	o.started(started)
	if call.Op == "start" {
		return nil
	}
	run, err := c.Wait(ctx, started.Run.ID, o.event)
	o.run(run)
	return err
}

// keyOf is the key of a call, which may be in a file.
func keyOf(args Command) (string, error) {
	if args.KeyFile != "" {
		return client.KeyFromFile(args.KeyFile)
	}
	return args.Key, nil
}

func (o *Outcome) started(started client.Started) {
	o.Key, o.Attempts, o.Replayed = started.Key, started.Attempts, started.Replayed
	o.run(started.Run)
}

func (o *Outcome) run(run api.Run) {
	o.RunID, o.State, o.Result = run.ID, string(run.State), string(run.Result)
	o.CreatedAt, o.StartedAt, o.EndedAt = written(run.CreatedAt), written(run.StartedAt), written(run.EndedAt)
}

func written(at api.Time) *string {
	if at.IsZero() {
		return nil
	}
	text := at.UTC().Format(time.RFC3339Nano)
	return &text
}

func (o *Outcome) event(event client.Event) { o.Events = append(o.Events, event.Name) }

func list[T any](o *Outcome, items iter.Seq2[T, error], id func(T) string) error {
	for item, err := range items {
		if err != nil {
			return err
		}
		o.Items = append(o.Items, id(item))
	}
	return nil
}

func (o *Outcome) fail(err error) {
	o.Error, o.Text, o.Key = Invalid, err.Error(), client.KeyOf(err)
	if refused, ok := errors.AsType[*client.Error](err); ok {
		o.Error, o.Attempts = Refused, refused.Attempts
		o.Code, o.Status, o.Retryable = string(refused.Code), refused.Status, refused.Retryable
		o.RetryAfterMS = int(refused.RetryAfter.Milliseconds())
	}
	if unknown, ok := errors.AsType[*client.UnknownOutcomeError](err); ok {
		o.Error, o.Attempts, o.RunID = UnknownOutcome, unknown.Attempts, unknown.RunID
	}
	if unreachable, ok := errors.AsType[*client.UnreachableError](err); ok {
		o.Error, o.Attempts = Unreachable, unreachable.Attempts
	}
}
