package workflows

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/validations"
)

// Service reads and changes workflows.
type Service struct {
	db    *core.DB
	runs  *validations.Service
	check *core.Validator
}

// NewService makes the service.
func NewService(db *core.DB, runs *validations.Service, check *core.Validator) *Service {
	return &Service{db: db, runs: runs, check: check}
}

// Draft is a workflow that is to be created.
type Draft struct {
	Slug        string                 `json:"slug"        validate:"required,max=63"`
	Name        string                 `json:"name"        validate:"required,max=200"`
	Description string                 `json:"description" validate:"max=2000"`
	IsActive    bool                   `json:"is_active"`
	Definition  validations.Definition `json:"definition"`
}

// Create adds a workflow with its first version. Every step's configuration is compiled first; what is
// wrong with it is reported with pointers into the draft.
func (s *Service) Create(ctx context.Context, orgID uuid.UUID, draft Draft) (Version, error) {
	if err := s.check.Body(draft); err != nil {
		return Version{}, err
	}
	if problems := draft.Definition.Check(); len(problems) > 0 {
		fields := make([]core.FieldError, len(problems))
		for i, problem := range problems {
			fields[i] = core.FieldError{
				Pointer: "/definition" + problem.Pointer, Code: problem.Code, Detail: problem.Detail,
			}
		}
		return Version{}, core.InvalidPayload("The configuration of a step is wrong; errors says where.", fields...)
	}
	id, err := uuid.NewV7()
	if err != nil {
		return Version{}, fmt.Errorf("make an id: %w", err)
	}
	_, err = core.InTx(ctx, s.db, func(tx core.Tx) (struct{}, error) {
		return struct{}{}, insertWorkflow(ctx, tx, orgID, id, draft)
	})
	switch core.ViolatedConstraint(err) {
	case "uq_workflows_slug":
		return Version{}, core.InvalidPayload("The slug is taken.",
			core.FieldError{Pointer: "/slug", Code: "taken", Detail: "another workflow has this slug"})
	case "ck_workflows_slug":
		return Version{}, core.InvalidPayload("The slug is not well formed.", core.FieldError{
			Pointer: "/slug", Code: "slug", Detail: "must be lower-case letters, digits and hyphens, 63 at most",
		})
	}
	if err != nil {
		return Version{}, fmt.Errorf("create workflow %q: %w", draft.Slug, err)
	}
	return s.Find(ctx, orgID, id.String(), 0)
}

func insertWorkflow(ctx context.Context, tx core.Tx, orgID, id uuid.UUID, draft Draft) error {
	digest, err := validations.StoreDefinition(ctx, tx, orgID, draft.Definition)
	if err != nil {
		return err
	}
	batch := tx.NewBatch()
	batch.Queue(`
		INSERT INTO workflows (org_id, id, slug, name, description, is_active, latest_version)
		VALUES ($1, $2, $3, $4, $5, $6, 1)`, orgID, id, draft.Slug, draft.Name, draft.Description, draft.IsActive)
	batch.Queue(`
		INSERT INTO workflow_versions (org_id, workflow_id, number, definition_digest) VALUES ($1, $2, 1, $3)`,
		orgID, id, digest[:])
	return batch.Send(ctx)
}
