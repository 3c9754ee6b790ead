package validations

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/api"
)

// The names of the events of a run.
const (
	eventRunCreated    = "run.created"
	eventRunStarted    = "run.started"
	eventStepCompleted = "step.completed"
	eventRunCompleted  = "run.completed"
)

// The ids of events are computed from what the events are about. They are therefore the same in every process, and no
// event has to be stored. Steps have the ids between those of the run's start and its end.
const (
	eventIDCreated   = 1
	eventIDStarted   = 2
	eventIDFirstStep = 3
)

// Event is a change of a run.
type Event struct {
	ID   int
	Name string
	// Data is the run or the step at the time of the event.
	Data any
}

// Encode renders the event as a server-sent event.
func (e Event) Encode() ([]byte, error) {
	data, err := json.Marshal(e.Data)
	if err != nil {
		return nil, fmt.Errorf("render event %s: %w", e.Name, err)
	}
	return fmt.Appendf(nil, "id: %d\nevent: %s\ndata: %s\n\n", e.ID, e.Name, data), nil
}

// History is all events of a run so far.
type History struct {
	Events   []Event
	Progress Progress
}

// LastID returns the id of the last event so far.
func (h History) LastID() int {
	return h.Events[len(h.Events)-1].ID
}

// History reads the events of a run so far.
func (s *Service) History(ctx context.Context, orgID uuid.UUID, orgSlug string, id uuid.UUID) (History, error) {
	detail, err := s.Detail(ctx, orgID, id)
	if err != nil {
		return History{}, err
	}
	return newHistory(detail.Run, orgSlug, len(detail.Definition.Steps), detail.Steps), nil
}

// newHistory orders the events of a run. Each shows the run as it was then, without steps, or a step without findings.
func newHistory(run Run, orgSlug string, stepCount int, done []StepRun) History {
	then := run
	then.State, then.Result = api.RunStatePending, api.RunResultUnknown
	then.Error, then.ErrorCategory = "", ""
	then.ErrorCount, then.WarningCount, then.InfoCount, then.Attempts = 0, 0, 0, 0
	then.StartedAt, then.EndedAt, then.ContentPurgedAt, then.FindingsPurgedAt = nil, nil, nil, nil
	events := []Event{{eventIDCreated, eventRunCreated, RenderRun(then, orgSlug)}}
	if run.StartedAt != nil {
		then.State, then.StartedAt, then.Attempts = api.RunStateRunning, run.StartedAt, 1
		events = append(events, Event{eventIDStarted, eventRunStarted, RenderRun(then, orgSlug)})
	}
	for _, step := range done {
		body := renderStep(step, nil)
		events = append(events, Event{eventIDFirstStep + step.Ordinal, eventStepCompleted, body})
	}
	if run.State == api.RunStateCompleted {
		body := RenderRun(run, orgSlug)
		events = append(events, Event{eventIDFirstStep + stepCount, eventRunCompleted, body})
	}
	return History{Events: events, Progress: run.Progress()}
}
