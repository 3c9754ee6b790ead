package workflows

import (
	"context"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
)

// change sets members of a workflow without a new version; nil members stay as they are.
type change struct {
	Name        *string `json:"name"        validate:"omitnil,min=1,max=200,excludesrune=\x00"`
	Description *string `json:"description" validate:"omitnil,max=2000,excludesrune=\x00"`
	IsActive    *bool   `json:"-"`
	// Expected is what the client demands of the workflow as it is before the change.
	Expected core.Precondition `json:"-"`
}

// Change applies a change to a workflow of the principal's organization and audits it. A change that changes nothing is
// not audited.
func (s *Service) Change(
	ctx context.Context, principal core.Principal, id uuid.UUID, wanted change, action string,
) (Version, error) {
	return db.InTx(ctx, s.db, func(tx db.Tx) (Version, error) {
		workflow, err := lockLatest(ctx, tx, principal.OrgID, id.String())
		if err != nil {
			return Version{}, err
		}
		if err := wanted.Expected.Check(renderVersion(workflow, principal.OrgSlug)); err != nil {
			return Version{}, err
		}
		changed, err := wanted.apply(ctx, tx, &workflow.Workflow)
		if err != nil || !changed {
			return workflow, err
		}
		return workflow, audit(ctx, tx, principal, action, workflow)
	})
}

// setActive activates or deactivates a workflow.
func (s *Service) setActive(
	ctx context.Context, principal core.Principal, id uuid.UUID, active bool, expected core.Precondition,
) (Version, error) {
	action := "workflow.deactivate"
	if active {
		action = "workflow.activate"
	}
	return s.Change(ctx, principal, id, change{IsActive: &active, Expected: expected}, action)
}

// apply makes the change to a locked workflow and reports whether there was anything to change.
func (c change) apply(ctx context.Context, tx db.Tx, workflow *Workflow) (bool, error) {
	wanted := *workflow
	setTo(&wanted.Name, c.Name)
	setTo(&wanted.Description, c.Description)
	setTo(&wanted.IsActive, c.IsActive)
	if wanted == *workflow {
		return false, nil
	}
	if err := updateWorkflow(ctx, tx, &wanted); err != nil {
		return false, err
	}
	*workflow = wanted
	return true, nil
}

func setTo[T any](member, value *T) {
	if value != nil {
		*member = *value
	}
}
