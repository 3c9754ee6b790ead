package client

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/simplevalidations/simplevalidations/core/api"
)

const (
	// patientWait is how long one long poll waits for the end of the run.
	patientWait = "20"
	// pollPause is the least time between two reads of a run that has not ended.
	pollPause = time.Second
	// brokenStreams is after how many consecutive streams without an event the run is polled instead.
	brokenStreams = 2
	// maxOutage is how long Wait tolerates a service that does not answer.
	maxOutage = 2 * time.Minute
)

// Wait returns the run when it is completed, with its steps. It follows the run's events; if the stream fails, it
// long-polls the run, or polls every second if that is not possible. It tolerates a service that does not answer for up
// to two minutes. The function, which may be nil, is called once for each event. Ending the context ends the wait,
// never the run.
func (c *Client) Wait(ctx context.Context, id string, onEvent func(Event)) (api.Run, error) {
	w := &wait{client: c, id: id, told: make(map[string]bool), tell: onEvent}
	if err := w.follow(ctx); err != nil {
		return api.Run{}, err
	}
	return w.poll(ctx)
}

// wait is one wait for one run.
type wait struct {
	client    *Client
	id        string
	last      string
	completed bool
	// told holds the ids of the steps whose event was reported.
	told map[string]bool
	tell func(Event)
}

// follow reads streams of events until one reports the end, or the streams fail.
func (w *wait) follow(ctx context.Context) error {
	for broken := 0; broken < brokenStreams && !w.completed; {
		n, err := w.client.stream(ctx, w.id, w.last, w.take)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case w.completed || errors.Is(err, errNoStream):
			return nil
		case n > 0:
			broken = 0
		default:
			broken++
		}
		if err := sleep(ctx, jitter(pollPause)); err != nil {
			return err
		}
	}
	return nil
}

func (w *wait) take(event Event) {
	w.last = event.ID
	w.completed = w.completed || event.Name == EventRunCompleted
	if event.Step != nil {
		if w.told[event.Step.StepID] {
			return
		}
		w.told[event.Step.StepID] = true
	}
	if w.tell != nil {
		w.tell(event)
	}
}

// poll reads the run until it is completed.
func (w *wait) poll(ctx context.Context) (api.Run, error) {
	query := url.Values{"wait": {patientWait}}
	answered := time.Now()
	for {
		began := time.Now()
		run, _, got, err := call[api.Run](ctx, w.client, request{
			method: http.MethodGet, path: runPath(w.id), query: query,
		})
		switch {
		case err == nil:
			answered = time.Now()
			w.tellSteps(run)
			if run.Completed() {
				return run, nil
			}
		case errors.Is(err, api.CodeInvalidParameter) && query != nil:
			query = nil
		case !isOutage(ctx, err) || time.Since(answered) > maxOutage:
			return api.Run{}, err
		}
		pause := max(pollPause, retryAfter(got.Header)) - time.Since(began)
		if err := sleep(ctx, max(0, pause)); err != nil {
			return api.Run{}, err
		}
	}
}

// isOutage reports whether the service may be back soon, as after a restart.
func isOutage(ctx context.Context, err error) bool {
	if refused, ok := errors.AsType[*Error](err); ok {
		return refused.Retryable || refused.Status >= http.StatusInternalServerError
	}
	_, unreachable := errors.AsType[*UnreachableError](err)
	return unreachable && ctx.Err() == nil
}

// tellSteps reports the steps that have ended since the last poll.
func (w *wait) tellSteps(run api.Run) {
	for _, step := range run.Steps {
		if step.Ended() && step.Status != api.StepStatusSkipped {
			w.take(Event{ID: w.last, Name: EventStepCompleted, Step: &step})
		}
	}
	if run.Completed() && !w.completed {
		w.take(Event{ID: w.last, Name: EventRunCompleted, Run: &run})
	}
}
