package workflows

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/engines"
	"github.com/simplevalidations/simplevalidations/workflows/files"
)

// Service reads and changes workflows.
type Service struct {
	db    *db.DB
	runs  *validations.Service
	check *core.Validator
	// checks bounds the definitions that are checked at once.
	checks *files.Checks
}

// NewService makes the service.
func NewService(database *db.DB, runs *validations.Service, check *core.Validator) *Service {
	return &Service{db: database, runs: runs, check: check, checks: files.NewChecks()}
}

// NewParser makes the parser of files, whose checks are bounded together with those of all other definitions.
func (s *Service) NewParser() (*files.Parser, error) {
	parser, err := files.NewParser()
	if err != nil {
		return nil, err
	}
	parser.Checks = s.checks
	return parser, nil
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
	if err := s.validate(ctx, draft); err != nil {
		return Version{}, err
	}
	created, err := db.InTx(ctx, s.db, func(tx db.Tx) (Version, error) { return create(ctx, tx, orgID, draft) })
	if err != nil {
		return Version{}, fmt.Errorf("create workflow %q: %w", draft.Slug, err)
	}
	return created, nil
}

// validate makes the checks that the tags cannot express.
func (s *Service) validate(ctx context.Context, d Draft) error {
	// Find would take the slug for an id.
	if _, ok := core.ParseID(d.Slug); ok {
		return core.InvalidPayload("The slug looks like an id.",
			api.FieldError{Pointer: "/slug", Code: "slug", Detail: files.SlugIsID})
	}
	return s.checkDefinition(ctx, d.Definition)
}

// checkDefinition compiles every step of a definition and reports what is wrong with pointers into the body.
func (s *Service) checkDefinition(ctx context.Context, definition validations.Definition) error {
	var problems []engines.ConfigError
	err := s.checks.Run(ctx, func(ctx context.Context) error {
		var err error
		problems, err = definition.Check(ctx)
		return err
	})
	if err != nil || len(problems) == 0 {
		return err
	}
	return core.InvalidPayload("The definition is invalid; see errors.", definitionFields(problems)...)
}

// createOnce is the work of a request that creates a workflow from a checked draft.
func createOnce(principal core.Principal, draft Draft) idempotency.Work {
	warnings := definitionFields(draft.Definition.Warnings())
	return func(ctx context.Context, tx db.GormTx) (idempotency.Response, error) {
		version, err := create(ctx, tx.Tx, principal.OrgID, draft)
		if err != nil {
			return idempotency.Response{}, err
		}
		return announce(ctx, tx.Tx, principal, "workflow.create", version, warnings)
	}
}

// create adds a checked draft as a workflow with its first version.
func create(ctx context.Context, tx db.Tx, orgID uuid.UUID, draft Draft) (Version, error) {
	version := Version{
		Workflow: Workflow{
			OrgID: orgID, ID: core.NewID(), Slug: draft.Slug, Name: draft.Name, Description: draft.Description,
			IsActive: draft.IsActive, LatestVersion: 1,
		},
		Number: 1, Definition: draft.Definition,
	}
	if err := insertWorkflow(ctx, tx, &version.Workflow); err != nil {
		return Version{}, err
	}
	digest, err := validations.StoreDefinition(ctx, tx, orgID, draft.Definition)
	if err != nil {
		return Version{}, err
	}
	version.Digest = digest
	return version, insertVersion(ctx, tx, version)
}

// createVersionOnce is the work of a request that adds a version with a checked definition.
func createVersionOnce(
	principal core.Principal, workflow Version, definition validations.Definition, expected core.Precondition,
) idempotency.Work {
	warnings := definitionFields(definition.Warnings())
	return func(ctx context.Context, tx db.GormTx) (idempotency.Response, error) {
		workflow, err := lockLatest(ctx, tx.Tx, workflow.OrgID, workflow.ID.String())
		if err == nil {
			err = expected.Check(renderVersion(workflow, principal.OrgSlug))
		}
		if err != nil {
			return idempotency.Response{}, err
		}
		version, err := createVersion(ctx, tx.Tx, workflow, definition)
		if err != nil {
			return idempotency.Response{}, err
		}
		return announce(ctx, tx.Tx, principal, "workflow.create_version", version, warnings)
	}
}

// createVersion adds a checked definition as the workflow's next version. The lock on the workflow's row serializes the
// numbering of versions.
func createVersion(
	ctx context.Context, tx db.Tx, workflow Version, definition validations.Definition,
) (Version, error) {
	digest, err := validations.StoreDefinition(ctx, tx, workflow.OrgID, definition)
	if err != nil {
		return Version{}, err
	}
	workflow.Digest, workflow.Definition = digest, definition
	if err := nextVersion(ctx, tx, &workflow.Workflow); err != nil {
		return Version{}, err
	}
	workflow.Number = workflow.LatestVersion
	return workflow, insertVersion(ctx, tx, workflow)
}

// versionsAtOnce is how many versions a list has.
const versionsAtOnce = 50

// Search finds a workflow by its id or its slug.
func (s *Service) Search(ctx context.Context, principal core.Principal, text string) ([]pages.Found, error) {
	workflow, err := s.Find(ctx, principal.OrgID, text, 0)
	if errors.Is(err, api.CodeNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return []pages.Found{{
		Kind: "workflow", Title: workflow.Slug, At: workflow.CreatedAt,
		Address: pages.Base(principal.OrgSlug) + "workflows/" + workflow.Slug + "/",
	}}, nil
}
