package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/simplevalidations/simplevalidations/core/api"
)

// The names of events. Ignore unknown ones: further events may be added.
const (
	EventRunCreated    = "run.created"
	EventRunStarted    = "run.started"
	EventStepCompleted = "step.completed"
	EventRunCompleted  = "run.completed"
)

const (
	// silence is how long a stream may be silent before it counts as broken. The service sends a comment every 15
	// seconds.
	silence = 45 * time.Second
	// maxEvent bounds a line of a stream.
	maxEvent = 1 << 20
)

// Event is a change of a run.
type Event struct {
	// ID is the event's id in the stream; empty if the event was found by polling.
	ID   string
	Name string
	// Run is the run without its steps, in events about runs.
	Run *api.Run
	// Step is the step without its findings, in events about steps.
	Step *api.Step
}

var (
	// errSilent ends a stream from which nothing comes.
	errSilent = errors.New("the stream of events is silent")
	// errNoStream says that something else was answered. Alone it says that there are no more events.
	errNoStream = errors.New("there is no stream of events")
)

// Events iterates over the events of a run, from its first one or from that after the given id, until the run has ended
// or the stream has, which the service ends after some minutes: continue with the id of the last event. Wait does so by
// itself.
func (c *Client) Events(ctx context.Context, id, after string) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		stopped := false
		_, err := c.stream(ctx, id, after, func(event Event) {
			if !stopped && !yield(event, nil) {
				stopped = true
				cancel()
			}
		})
		if err != nil && err != errNoStream && !stopped { //nolint:errorlint // alone it is the end
			yield(Event{}, err)
		}
	}
}

// stream reads the events after the last one until the stream ends. It reports how many there were.
func (c *Client) stream(ctx context.Context, id, last string, tell func(Event)) (int, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watchdog := time.AfterFunc(silence, func() { cancel(errSilent) })
	defer watchdog.Stop()
	header := http.Header{"Accept": {"text/event-stream"}, "Cache-Control": {"no-cache"}}
	if last != "" {
		header.Set("Last-Event-ID", last)
	}
	ready, _, err := c.prepare(ctx, request{method: http.MethodGet, path: runPath(id) + "events/", header: header})
	if err != nil {
		return 0, err
	}
	response, err := c.http.Do(ready)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	mediaType, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")) // What cannot be read is another type.
	switch {
	case response.StatusCode == http.StatusNoContent:
		return 0, errNoStream
	case response.StatusCode != http.StatusOK || mediaType != "text/event-stream":
		content, _ := io.ReadAll(io.LimitReader(response.Body, maxEvent)) // The status says enough.
		got := Answer{Status: response.StatusCode, Header: response.Header, Content: content, Attempts: 1}
		return 0, fmt.Errorf("%w: %w", errNoStream, refusal(got, ""))
	}
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, maxEvent)
	return readEvents(lines, func() { watchdog.Reset(silence) }, tell)
}

// readEvents reads server-sent events, with a call for each line.
func readEvents(lines *bufio.Scanner, alive func(), tell func(Event)) (int, error) {
	count := 0
	var event Event
	var data strings.Builder
	for lines.Scan() {
		alive()
		field, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case lines.Text() == "":
			if err := event.decode(data.String()); err != nil {
				return count, err
			}
			if event.Name != "" {
				tell(event)
				count++
			}
			event = Event{ID: event.ID}
			data.Reset()
		case field == "id":
			event.ID = value
		case field == "event":
			event.Name = value
		case field == "data":
			data.WriteString(value)
		}
	}
	return count, lines.Err()
}

func (e *Event) decode(data string) error {
	var target any
	switch {
	case strings.HasPrefix(e.Name, "run."):
		e.Run = new(api.Run)
		target = e.Run
	case strings.HasPrefix(e.Name, "step."):
		e.Step = new(api.Step)
		target = e.Step
	default:
		return nil
	}
	if err := json.Unmarshal([]byte(data), target); err != nil {
		return fmt.Errorf("read event %s: %w", e.Name, err)
	}
	return nil
}
