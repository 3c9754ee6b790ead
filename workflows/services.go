package workflows

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/validations"
)

const slugIsID = "must not have the form of a UUID"

// Service reads and changes workflows.
type Service struct {
	db    *db.DB
	runs  *validations.Service
	check *core.Validator
}

// NewService makes the service.
func NewService(database *db.DB, runs *validations.Service, check *core.Validator) *Service {
	return &Service{db: database, runs: runs, check: check}
}

// Draft is a workflow that is to be created.
type Draft struct {
	Slug        string                 `json:"slug"        validate:"required,max=63,excludesrune=\x00"`
	Name        string                 `json:"name"        validate:"required,max=200,excludesrune=\x00"`
	Description string                 `json:"description" validate:"max=2000,excludesrune=\x00"`
	IsActive    bool                   `json:"is_active"`
	Definition  validations.Definition `json:"definition"`
}

// Create adds a workflow with its first version. Every step's configuration is compiled first; what is
// wrong with it is reported with pointers into the draft.
func (s *Service) Create(ctx context.Context, orgID uuid.UUID, draft Draft) (Version, error) {
	if err := s.check.Body(draft); err != nil {
		return Version{}, err
	}
	if err := draft.validate(ctx); err != nil {
		return Version{}, err
	}
	created, err := db.InTx(ctx, s.db, func(tx db.Tx) (Version, error) { return create(ctx, tx, orgID, draft) })
	if err != nil {
		return Version{}, fmt.Errorf("create workflow %q: %w", draft.Slug, err)
	}
	return created, nil
}

// validate makes the checks that the tags cannot express.
func (d Draft) validate(ctx context.Context) error {
	// Find would take the slug for an id.
	if _, ok := core.ParseID(d.Slug); ok {
		return core.InvalidPayload("The slug looks like an id.",
			core.FieldError{Pointer: "/slug", Code: "slug", Detail: slugIsID})
	}
	return checkDefinition(ctx, d.Definition)
}

// checkDefinition compiles every step of a definition and reports what is wrong with pointers into the body.
func checkDefinition(ctx context.Context, definition validations.Definition) error {
	problems, err := definition.Check(ctx)
	if err != nil || len(problems) == 0 {
		return err
	}
	fields := make([]core.FieldError, len(problems))
	for i, problem := range problems {
		fields[i] = core.FieldError{
			Pointer: "/definition" + problem.Pointer, Code: problem.Code, Detail: problem.Detail,
		}
	}
	return core.InvalidPayload("The definition is wrong; errors says where.", fields...)
}

// create adds a checked draft as a workflow with its first version.
func create(ctx context.Context, tx db.Tx, orgID uuid.UUID, draft Draft) (Version, error) {
	id, err := core.NewID()
	if err != nil {
		return Version{}, err
	}
	version := Version{
		Workflow: Workflow{
			OrgID: orgID, ID: id, Slug: draft.Slug, Name: draft.Name, Description: draft.Description,
			IsActive: draft.IsActive, LatestVersion: 1,
		},
		Number: 1, Definition: draft.Definition,
	}
	// A slug that is taken leaves the transaction usable: an import goes on with the workflow that has it.
	err = tx.QueryRow(ctx, `
		INSERT INTO workflows (org_id, id, slug, name, description, is_active, latest_version)
		VALUES ($1, $2, $3, $4, $5, $6, 1)
		ON CONFLICT ON CONSTRAINT uq_workflows_slug DO NOTHING RETURNING created_at, updated_at`,
		orgID, id, draft.Slug, draft.Name, draft.Description, draft.IsActive,
	).Scan(&version.CreatedAt, &version.UpdatedAt)
	if err != nil {
		return Version{}, slugFault(err)
	}
	if version.Digest, err = validations.StoreDefinition(ctx, tx, orgID, draft.Definition); err != nil {
		return Version{}, err
	}
	return version, insertVersion(ctx, tx, version)
}

// createVersion adds a checked definition as the workflow's next version. The workflow's row is the lock
// that numbers versions one by one.
func createVersion(
	ctx context.Context, tx db.Tx, workflow Version, definition validations.Definition,
) (Version, error) {
	digest, err := validations.StoreDefinition(ctx, tx, workflow.OrgID, definition)
	if err != nil {
		return Version{}, err
	}
	workflow.Digest, workflow.Definition = digest, definition
	err = tx.QueryRow(ctx, `
		UPDATE workflows SET latest_version = latest_version + 1, updated_at = now() WHERE org_id = $1 AND id = $2
		RETURNING latest_version, updated_at`, workflow.OrgID, workflow.ID).Scan(&workflow.Number, &workflow.UpdatedAt)
	if err != nil {
		return Version{}, fmt.Errorf("number a version of workflow %s: %w", workflow.ID, err)
	}
	workflow.LatestVersion = workflow.Number
	return workflow, insertVersion(ctx, tx, workflow)
}

func insertVersion(ctx context.Context, tx db.Tx, version Version) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO workflow_versions (org_id, workflow_id, number, definition_digest) VALUES ($1, $2, $3, $4)`,
		version.OrgID, version.ID, version.Number, version.Digest[:])
	if err != nil {
		return fmt.Errorf("add version %d of workflow %s: %w", version.Number, version.ID, err)
	}
	return nil
}

// errSlugTaken is the cause of the refusal of a slug that another workflow has.
var errSlugTaken = errors.New("the slug is taken")

func slugFault(err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return core.InvalidPayload("The slug is taken.", core.FieldError{
			Pointer: "/slug", Code: "taken", Detail: "another workflow has this slug",
		}).Because(errSlugTaken)
	}
	if db.ViolatedConstraint(err) == "ck_workflows_slug" {
		return core.InvalidPayload("The slug is not well formed.", core.FieldError{
			Pointer: "/slug", Code: "slug", Detail: "must be lower-case letters, digits and hyphens, 63 at most",
		})
	}
	return fmt.Errorf("add a workflow: %w", err)
}
