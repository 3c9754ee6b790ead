package validations

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"
	"gorm.io/gorm"
)

// The names of the events in the life of a run.
const (
	eventRunCreated    = "run.created"
	eventRunStarted    = "run.started"
	eventStepCompleted = "step.completed"
	eventRunCompleted  = "run.completed"
)

// The ids of events. They follow from what the events are about, so that they are the same in every process and on
// every look, and nothing has to be stored: the steps have the ids between the run's own.
const (
	eventIDCreated   = 1
	eventIDStarted   = 2
	eventIDFirstStep = 3
)

// event is one thing that has happened to a run.
type event struct {
	id   int
	name string
	// data is what it happened to, as it was then.
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

// story is what has happened to a run so far.
type story struct {
	events   []event
	progress Progress
}

// last is the id of the last event so far.
func (s story) last() int {
	return s.events[len(s.events)-1].id
}

// story reads what has happened to a run.
func (s *Service) story(ctx context.Context, orgID uuid.UUID, orgSlug string, id uuid.UUID) (story, error) {
	run, err := s.Find(ctx, orgID, id)
	if err != nil {
		return story{}, err
	}
	definition, err := s.Definition(ctx, orgID, Digest(run.DefinitionDigest))
	if err != nil {
		return story{}, err
	}
	// Steps that are committed between the two reads are left to the next look.
	steps, err := gorm.G[StepRun](s.db.Gorm).Where("org_id = ? AND run_id = ? AND ordinal < ?", orgID, id,
		run.RecoveryPoint).Order("ordinal").Find(ctx)
	if err != nil {
		return story{}, fmt.Errorf("read the steps of run %s: %w", id, err)
	}
	return tell(run, orgSlug, len(definition.Steps), steps), nil
}

// tell puts the events of a run in order. Runs are shown without steps, and steps without findings.
func tell(run Run, orgSlug string, steps int, done []StepRun) story {
	then := run
	then.State, then.Result, then.Error, then.ErrorCategory = StatePending, ResultUnknown, "", CategoryNone
	then.ErrorCount, then.WarningCount, then.InfoCount, then.Attempts = 0, 0, 0, 0
	then.StartedAt, then.EndedAt, then.ContentPurgedAt, then.FindingsPurgedAt = nil, nil, nil, nil
	events := []event{{eventIDCreated, eventRunCreated, renderRun(then, orgSlug)}}
	if run.StartedAt != nil {
		then.State, then.StartedAt, then.Attempts = StateRunning, run.StartedAt, 1
		events = append(events, event{eventIDStarted, eventRunStarted, renderRun(then, orgSlug)})
	}
	for _, step := range done {
		events = append(events, event{eventIDFirstStep + step.Ordinal, eventStepCompleted, renderStep(step, nil)})
	}
	if run.State == StateCompleted {
		events = append(events, event{eventIDFirstStep + steps, eventRunCompleted, renderRun(run, orgSlug)})
	}
	return story{events: events, progress: run.Progress()}
}
