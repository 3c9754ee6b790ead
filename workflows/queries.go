package workflows

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
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

// nameOf tells a workflow's UUID from its slug.
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

// Find returns the organization's workflow by its UUID or slug, as of the pinned version or, with
// version 0, the latest. What the organization does not have is not found, whoever has it.
func (s *Service) Find(ctx context.Context, orgID uuid.UUID, idOrSlug string, version int) (Version, error) {
	column, name := nameOf(idOrSlug)
	rows, err := s.db.Pool.Query(ctx, findQuery("$1", column, "$2", "$3"), orgID, name, version)
	if err != nil {
		return Version{}, fmt.Errorf("find a workflow: %w", err)
	}
	found, err := collectVersion(rows)
	if err != nil {
		return Version{}, err
	}
	return s.withDefinition(ctx, found)
}

func collectVersion(rows pgx.Rows) (*Version, error) {
	found, err := pgx.CollectExactlyOneRow(rows, scanVersion)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil //nolint:nilnil // no version and no error: there is none
	}
	if err != nil {
		return nil, fmt.Errorf("find a workflow: %w", err)
	}
	return &found, nil
}

// withDefinition completes what was found; nil is nothing.
func (s *Service) withDefinition(ctx context.Context, found *Version) (Version, error) {
	if found == nil {
		return Version{}, core.NotFound("workflow")
	}
	definition, err := s.runs.Definition(ctx, found.OrgID, found.Digest)
	if err != nil {
		return Version{}, err
	}
	complete := *found
	complete.Definition = definition
	return complete, nil
}

// list reads one page of the organization's workflows and one row more.
func (s *Service) list(ctx context.Context, orgID uuid.UUID, cursor core.Cursor) ([]Version, error) {
	comparison, order, from := cursor.Window()
	rows, err := s.db.Pool.Query(ctx, `SELECT `+versionColumns+`
		FROM workflows AS w
		JOIN workflow_versions AS v ON v.org_id = w.org_id AND v.workflow_id = w.id AND v.number = w.latest_version
		WHERE w.org_id = $1 AND w.id `+comparison+` $2 ORDER BY w.id `+order+` LIMIT $3`, orgID, from, cursor.Size+1)
	if err != nil {
		return nil, fmt.Errorf("list workflows: %w", err)
	}
	versions, err := pgx.CollectRows(rows, scanVersion)
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

func scanVersion(row pgx.CollectableRow) (Version, error) {
	return scanVersionAnd(row)
}

// scanVersionAnd reads a version and what follows it in the row.
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

func idOf(v Version) uuid.UUID {
	return v.ID
}
