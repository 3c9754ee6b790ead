package web

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/validations"
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

// event is a change of a run.
type event struct {
	id   int
	name string
	// data is the run or the step at the time of the event.
	data any
}

// encode renders the event as a server-sent event.
func (e event) encode() ([]byte, error) {
	data, err := json.Marshal(e.data)
	if err != nil {
		return nil, fmt.Errorf("render event %s: %w", e.name, err)
	}
	return fmt.Appendf(nil, "id: %d\nevent: %s\ndata: %s\n\n", e.id, e.name, data), nil
}

// history is all events of a run so far.
type history struct {
	events   []event
	progress validations.Progress
}

func (h history) lastID() int {
	return h.events[len(h.events)-1].id
}

// history reads the events of a run so far.
func (a *App) history(ctx context.Context, principal core.Principal, id uuid.UUID) (history, error) {
	run, err := a.Runs.Find(ctx, principal.OrgID, id)
	if err != nil {
		return history{}, err
	}
	definition, err := a.Runs.Definition(ctx, principal.OrgID, validations.Digest(run.DefinitionDigest))
	if err != nil {
		return history{}, err
	}
	steps, err := a.Runs.Steps(ctx, run)
	if err != nil {
		return history{}, err
	}
	return newHistory(run, principal.OrgSlug, len(definition.Steps), steps), nil
}

// newHistory orders the events of a run. Each shows the run as it was then, without steps, or a step without findings.
func newHistory(run validations.Run, orgSlug string, stepCount int, done []validations.StepRun) history {
	then := run
	then.State, then.Result = validations.StatePending, validations.ResultUnknown
	then.Error, then.ErrorCategory = "", validations.CategoryNone
	then.ErrorCount, then.WarningCount, then.InfoCount, then.Attempts = 0, 0, 0, 0
	then.StartedAt, then.EndedAt, then.ContentPurgedAt, then.FindingsPurgedAt = nil, nil, nil, nil
	events := []event{{eventIDCreated, eventRunCreated, validations.RenderRun(then, orgSlug)}}
	if run.StartedAt != nil {
		then.State, then.StartedAt, then.Attempts = validations.StateRunning, run.StartedAt, 1
		events = append(events, event{eventIDStarted, eventRunStarted, validations.RenderRun(then, orgSlug)})
	}
	for _, step := range done {
		body := validations.RenderStep(step, nil)
		events = append(events, event{eventIDFirstStep + step.Ordinal, eventStepCompleted, body})
	}
	if run.State == validations.StateCompleted {
		body := validations.RenderRun(run, orgSlug)
		events = append(events, event{eventIDFirstStep + stepCount, eventRunCompleted, body})
	}
	return history{events: events, progress: run.Progress()}
}
