package workflows

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/validations"
)

const versionColumns = `w.org_id, w.id, w.slug, w.name, w.description, w.is_active, w.latest_version, w.created_at,
	w.updated_at, v.number, v.definition_digest`

// findQuery finds a version by the organization, by a column of the workflow and by the number, 0 for the latest.
func findQuery(org, column, name, number string) string {
	return `SELECT ` + versionColumns + `
		FROM workflows AS w
		JOIN workflow_versions AS v ON v.org_id = w.org_id AND v.workflow_id = w.id
			AND v.number = CASE WHEN ` + number + ` = 0 THEN w.latest_version ELSE ` + number + ` END
		WHERE w.org_id = ` + org + ` AND w.` + column + ` = ` + name
}

// nameOf returns the column that a workflow is named by, its id or its slug, and the value.
func nameOf(idOrSlug string) (column string, name any) { //nolint:nonamedreturns // two results, one of them untyped
	if id, ok := core.ParseID(idOrSlug); ok {
		return "id", id
	}
	return "slug", idOrSlug
}

// typeOf is the type of a column that nameOf returns.
func typeOf(column string) string {
	if column == "id" {
		return "uuid"
	}
	return "text"
}

// Find returns a workflow of the organization by its id or slug, as of the pinned version or, with version 0, the
// latest. A workflow of another organization is not_found like one that does not exist.
func (s *Service) Find(ctx context.Context, orgID uuid.UUID, idOrSlug string, version int) (Version, error) {
	found, err := findVersion(ctx, s.db.Pool, orgID, idOrSlug, version)
	if err == nil {
		found.Definition, err = s.runs.Definition(ctx, orgID, found.Digest)
	}
	return found, err
}

// findVersion finds a version without its definition.
func findVersion(ctx context.Context, on db.Querier, orgID uuid.UUID, idOrSlug string, number int) (Version, error) {
	column, name := nameOf(idOrSlug)
	found, err := db.All(ctx, on, scanVersion, findQuery("$1", column, "$2", "$3"), orgID, name, number)
	if err != nil {
		return Version{}, fmt.Errorf("find workflow %s: %w", idOrSlug, err)
	}
	if len(found) == 0 {
		return Version{}, core.NotFound("workflow")
	}
	return found[0], nil
}

// lookUpVersion looks a version up together with the caller's token. keep is called with the version that was found and
// the access tag under which it was read.
func lookUpVersion(
	loader *db.Loader, org core.CallerOrg, idOrSlug string, number int,
	keep func(version Version, tag uuid.UUID) validations.WorkflowRef,
) *db.Future[*validations.WorkflowRef] {
	column, value := nameOf(idOrSlug)
	return db.Lookup(loader, func(row pgx.CollectableRow) (validations.WorkflowRef, error) {
		var tag uuid.UUID
		version, err := scanVersionAnd(row, &tag)
		if err != nil {
			return validations.WorkflowRef{}, err
		}
		return keep(version, tag), nil
	}, `SELECT version.*, o.access_tag
		FROM (`+findQuery("asked.org", column, "asked.name", "asked.number")+`) AS version
		JOIN organizations AS o ON o.id = version.org_id`,
		org.Param,
		db.Param{Name: "name", Type: typeOf(column), Value: value},
		db.Param{Name: "number", Type: "integer", Value: number})
}

// list reads one page of the organization's workflows and one row more.
func (s *Service) list(ctx context.Context, orgID uuid.UUID, cursor core.Cursor) ([]Version, error) {
	comparison, order, from := cursor.Window()
	versions, err := db.All(ctx, s.db.Pool, scanVersion, `SELECT `+versionColumns+`
		FROM workflows AS w
		JOIN workflow_versions AS v ON v.org_id = w.org_id AND v.workflow_id = w.id AND v.number = w.latest_version
		WHERE w.org_id = $1 AND w.id `+comparison+` $2 ORDER BY w.id `+order+` LIMIT $3`, orgID, from, cursor.Size+1)
	if err != nil {
		return nil, fmt.Errorf("list workflows: %w", err)
	}
	for i := range versions {
		if versions[i].Definition, err = s.runs.Definition(ctx, orgID, versions[i].Digest); err != nil {
			return nil, err
		}
	}
	return versions, nil
}

// versions lists the versions of a workflow below a number, newest first, and one more than asked for.
func (s *Service) versions(ctx context.Context, orgID, workflowID uuid.UUID, below, count int) ([]versionEntry, error) {
	entries, err := db.All(ctx, s.db.Pool, pgx.RowToStructByPos[versionEntry], `
		SELECT number, created_at FROM workflow_versions WHERE org_id = $1 AND workflow_id = $2 AND number < $3
		ORDER BY number DESC LIMIT $4`, orgID, workflowID, below, count+1)
	if err != nil {
		return nil, fmt.Errorf("list versions of workflow %s: %w", workflowID, err)
	}
	return entries, nil
}

// maxNames bounds the workflows that a form offers.
const maxNames = 200

// Names returns the names of the organization's workflows, up to maxNames, in alphabetical order.
func (s *Service) Names(ctx context.Context, orgID uuid.UUID) ([]validations.WorkflowName, error) {
	names, err := db.All(ctx, s.db.Pool, pgx.RowToStructByPos[validations.WorkflowName], `
		SELECT id, slug, name FROM (
			SELECT id, slug, name FROM workflows WHERE org_id = $1 ORDER BY slug LIMIT $2) AS first
		ORDER BY lower(name), slug`, orgID, maxNames)
	if err != nil {
		return nil, fmt.Errorf("list the names of workflows: %w", err)
	}
	return names, nil
}

func scanVersion(row pgx.CollectableRow) (Version, error) {
	return scanVersionAnd(row)
}

// scanVersionAnd reads a version and the further columns of the row.
func scanVersionAnd(row pgx.CollectableRow, more ...any) (Version, error) {
	var v Version
	var digest []byte
	err := row.Scan(append([]any{
		&v.OrgID, &v.ID, &v.Slug, &v.Name, &v.Description, &v.IsActive, &v.LatestVersion, &v.CreatedAt,
		&v.UpdatedAt, &v.Number, &digest,
	}, more...)...)
	if err == nil {
		v.Digest = validations.Digest(digest)
	}
	return v, err
}

// lockLatest locks a workflow and then reads its latest version: one statement for both would look for the version
// that was the latest before it had to wait.
func lockLatest(ctx context.Context, tx db.Tx, orgID uuid.UUID, idOrSlug string) (Version, error) {
	column, name := nameOf(idOrSlug)
	lock := `SELECT 1 FROM workflows WHERE org_id = $1 AND ` + column + ` = $2 FOR UPDATE`
	if _, err := tx.Exec(ctx, lock, orgID, name); err != nil {
		return Version{}, fmt.Errorf("lock workflow %s: %w", idOrSlug, err)
	}
	found, err := findVersion(ctx, tx, orgID, idOrSlug, 0)
	if err == nil {
		found.Definition, err = validations.ReadDefinition(ctx, tx, orgID, found.Digest)
	}
	return found, err
}

// insertWorkflow adds a workflow and sets its times. A slug that is taken leaves the transaction usable: an import goes
// on with the workflow that has it.
func insertWorkflow(ctx context.Context, tx db.Tx, workflow *Workflow) error {
	err := tx.QueryRow(ctx, `
		INSERT INTO workflows (org_id, id, slug, name, description, is_active, latest_version)
		VALUES ($1, $2, $3, $4, $5, $6, $7)
		ON CONFLICT ON CONSTRAINT uq_workflows_slug DO NOTHING RETURNING created_at, updated_at`,
		workflow.OrgID, workflow.ID, workflow.Slug, workflow.Name, workflow.Description, workflow.IsActive,
		workflow.LatestVersion).Scan(&workflow.CreatedAt, &workflow.UpdatedAt)
	return slugFault(err)
}

// errSlugTaken is the cause of the refusal of a slug that another workflow has.
var errSlugTaken = errors.New("the slug is taken")

func slugFault(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return core.InvalidPayload("The slug is taken.", api.FieldError{
			Pointer: "/slug", Code: "taken", Detail: "another workflow has this slug",
		}).Because(errSlugTaken)
	}
	if db.ViolatedConstraint(err) == "ck_workflows_slug" {
		return core.InvalidPayload("The slug is not well formed.", api.FieldError{
			Pointer: "/slug", Code: "slug", Detail: "must be lower-case letters, digits and hyphens, 63 at most",
		})
	}
	return fmt.Errorf("add a workflow: %w", err)
}

// updateWorkflow writes the name, the description and whether the workflow is active.
func updateWorkflow(ctx context.Context, tx db.Tx, workflow *Workflow) error {
	err := tx.QueryRow(ctx, `
		UPDATE workflows SET name = $3, description = $4, is_active = $5, updated_at = now()
		WHERE org_id = $1 AND id = $2 RETURNING updated_at`,
		workflow.OrgID, workflow.ID, workflow.Name, workflow.Description, workflow.IsActive).Scan(&workflow.UpdatedAt)
	if err != nil {
		return fmt.Errorf("change workflow %s: %w", workflow.ID, err)
	}
	return nil
}

// nextVersion numbers the next version of a workflow, and locks the workflow until the transaction ends.
func nextVersion(ctx context.Context, tx db.Tx, workflow *Workflow) error {
	err := tx.QueryRow(ctx, `
		UPDATE workflows SET latest_version = latest_version + 1, updated_at = now() WHERE org_id = $1 AND id = $2
		RETURNING latest_version, updated_at`, workflow.OrgID, workflow.ID,
	).Scan(&workflow.LatestVersion, &workflow.UpdatedAt)
	if err != nil {
		return fmt.Errorf("number a version of workflow %s: %w", workflow.ID, err)
	}
	return nil
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
