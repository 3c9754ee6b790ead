package validations

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// MaxPlaces bounds the findings of a run that FindingPlaces reads.
const MaxPlaces = 5000

const findingFields = `f.id, f.step_ordinal, f.ordinal, f.severity, f.code, f.message, f.path, f.line, f."column",
	f."row", f.excerpt, f.count, f.sample_rows, f.assertion_id, f.truncated`

// ListFindings reads one page of a run's findings, in the order in which they were found, and one row more.
func (s *Service) ListFindings(ctx context.Context, run Run, cursor core.Cursor) ([]Finding, error) {
	comparison, order := ">", "ASC"
	if cursor.Backward {
		comparison, order = "<", "DESC"
	}
	return s.readFindings(ctx, run, `SELECT `+findingFields+` FROM findings AS f
		WHERE f.org_id = $1 AND f.run_id = $2 AND ($3 = $4::uuid OR (f.step_ordinal, f.ordinal) `+comparison+`
			(SELECT step_ordinal, ordinal FROM findings WHERE org_id = $1 AND run_id = $2 AND id = $3))
		ORDER BY f.step_ordinal `+order+`, f.ordinal `+order+` LIMIT $5`,
		run.OrgID, run.ID, cursor.ID, uuid.Nil, cursor.Size+1)
}

// allFindings reads all stored findings of a run.
func (s *Service) allFindings(ctx context.Context, run Run) ([]Finding, error) {
	return s.readFindings(ctx, run, `SELECT `+findingFields+` FROM findings AS f
		WHERE f.org_id = $1 AND f.run_id = $2 ORDER BY f.step_ordinal, f.ordinal`, run.OrgID, run.ID)
}

func (s *Service) readFindings(ctx context.Context, run Run, query string, args ...any) ([]Finding, error) {
	findings, err := db.All(ctx, s.db.Pool, scanFinding, query, args...)
	if err != nil {
		return nil, fmt.Errorf("read the findings of run %s: %w", run.ID, err)
	}
	return findings, nil
}

// queueFirstFindings reads one finding more per step than a run shows, so that the run can say that there are more.
func queueFirstFindings(reads *db.Reads, orgID, runID uuid.UUID, found *[]Finding) {
	reads.Queue(db.AllInto(found, scanFinding), `SELECT `+findingFields+` FROM findings AS f
		WHERE f.org_id = $1 AND f.run_id = $2 AND f.ordinal <= $3 ORDER BY f.step_ordinal, f.ordinal`,
		orgID, runID, maxInlineIssues)
}

func scanFinding(row pgx.CollectableRow) (Finding, error) {
	var f Finding
	err := row.Scan(&f.ID, &f.StepOrdinal, &f.Ordinal, &f.Severity, &f.Code, &f.Message, &f.Path, &f.Line, &f.Column,
		&f.Row, &f.Excerpt, &f.Count, &f.SampleRows, &f.AssertionID, &f.Truncated)
	return f, err
}

// FindingPlace is the position of a finding in its document, and its rule.
type FindingPlace struct {
	Step     int
	Severity engines.Severity
	Code     string
	Line     int
	// Truncated is set if it stands for further findings, which were not stored.
	Truncated bool
}

// FindingPlaces reads the positions of a run's findings, at most MaxPlaces of them.
func (s *Service) FindingPlaces(ctx context.Context, run Run) ([]FindingPlace, error) {
	found, err := db.All(ctx, s.db.Pool, pgx.RowToStructByPos[FindingPlace], `
		SELECT step_ordinal, severity, code, line, truncated FROM findings
		WHERE org_id = $1 AND run_id = $2 ORDER BY step_ordinal, ordinal LIMIT $3`, run.OrgID, run.ID, MaxPlaces)
	if err != nil {
		return nil, fmt.Errorf("read the positions of the findings of run %s: %w", run.ID, err)
	}
	return found, nil
}

// MaxLineFindings bounds the findings that FindingsOnLines reads.
const MaxLineFindings = 200

// FindingsOnLines reads the findings of a run on some lines of its document, at most MaxLineFindings of them.
func (s *Service) FindingsOnLines(ctx context.Context, run Run, first, last int) ([]Finding, error) {
	return s.readFindings(ctx, run, `SELECT `+findingFields+` FROM findings AS f
		WHERE f.org_id = $1 AND f.run_id = $2 AND f.line BETWEEN $3 AND $4
		ORDER BY f.line, f.step_ordinal, f.ordinal LIMIT $5`, run.OrgID, run.ID, first, last, MaxLineFindings)
}

// FirstFinding reads the most severe finding, or nil if the run has none.
func (s *Service) FirstFinding(ctx context.Context, run Run) (*Finding, error) {
	found, err := s.readFindings(ctx, run, `SELECT `+findingFields+` FROM findings AS f
		WHERE f.org_id = $1 AND f.run_id = $2
		ORDER BY array_position(ARRAY['ERROR', 'WARNING', 'INFO'], f.severity), f.step_ordinal, f.ordinal LIMIT 1`,
		run.OrgID, run.ID)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}
