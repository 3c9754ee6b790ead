package workflows

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/validations"
)

// change is what of a workflow may change while its versions stay; nil members do not.
type change struct {
	Name        *string `json:"name"        validate:"omitnil,min=1,max=200,excludesrune=\x00"`
	Description *string `json:"description" validate:"omitnil,max=2000,excludesrune=\x00"`
	IsActive    *bool   `json:"-"`
}

// Change applies a change to a workflow of the principal and audits it under the action. A workflow that is already
// so stays as it is, and nothing is audited.
func (s *Service) Change(
	ctx context.Context, principal core.Principal, id uuid.UUID, wanted change, action string,
) (Version, error) {
	return db.InTx(ctx, s.db, func(tx db.Tx) (Version, error) {
		workflow, err := lockLatest(ctx, tx, principal.OrgID, id.String())
		if err != nil {
			return Version{}, err
		}
		changed, err := wanted.apply(ctx, tx, &workflow.Workflow)
		if err != nil || !changed {
			return workflow, err
		}
		return workflow, audit(ctx, tx, principal, action, workflow)
	})
}

// lockLatest locks a workflow and then reads its latest version: one statement for both would look for the version
// that was the latest before it had to wait.
func lockLatest(ctx context.Context, tx db.Tx, orgID uuid.UUID, idOrSlug string) (Version, error) {
	column, name := nameOf(idOrSlug)
	lock := `SELECT 1 FROM workflows WHERE org_id = $1 AND ` + column + ` = $2 FOR UPDATE`
	if _, err := tx.Exec(ctx, lock, orgID, name); err != nil {
		return Version{}, fmt.Errorf("lock workflow %s: %w", idOrSlug, err)
	}
	rows, err := tx.Query(ctx, findQuery("$1", column, "$2", "$3"), orgID, name, 0)
	if err != nil {
		return Version{}, fmt.Errorf("read workflow %s: %w", idOrSlug, err)
	}
	found, err := collectVersion(rows)
	if err != nil {
		return Version{}, err
	}
	if found == nil {
		return Version{}, core.NotFound("workflow")
	}
	found.Definition, err = validations.ReadDefinition(ctx, tx, orgID, found.Digest)
	return *found, err
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
	err := tx.QueryRow(ctx, `
		UPDATE workflows SET name = $3, description = $4, is_active = $5, updated_at = now()
		WHERE org_id = $1 AND id = $2 RETURNING updated_at`,
		wanted.OrgID, wanted.ID, wanted.Name, wanted.Description, wanted.IsActive).Scan(&wanted.UpdatedAt)
	if err != nil {
		return false, fmt.Errorf("change workflow %s: %w", wanted.ID, err)
	}
	*workflow = wanted
	return true, nil
}

func setTo[T any](member, value *T) {
	if value != nil {
		*member = *value
	}
}
