package validations

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/validations/formats"
)

const findingFields = `f.id, f.step_ordinal, f.ordinal, f.severity, f.code, f.message, f.path, f.line, f."column",
	f."row", f.excerpt, f.count, f.sample_rows, f.assertion_id, f.truncated`

// listFindings reads one page of a run's findings, in the order in which they were found, and one row more.
func (s *Service) listFindings(ctx context.Context, run Run, cursor core.Cursor) ([]Finding, error) {
	comparison, order := ">", "ASC"
	if cursor.Backward {
		comparison, order = "<", "DESC"
	}
	rows, err := s.db.Pool.Query(ctx, `SELECT `+findingFields+` FROM findings AS f
		WHERE f.org_id = $1 AND f.run_id = $2 AND ($3 = $4::uuid OR (f.step_ordinal, f.ordinal) `+comparison+`
			(SELECT step_ordinal, ordinal FROM findings WHERE org_id = $1 AND run_id = $2 AND id = $3))
		ORDER BY f.step_ordinal `+order+`, f.ordinal `+order+` LIMIT $5`,
		run.OrgID, run.ID, cursor.ID, uuid.Nil, cursor.Size+1)
	return collectFindings(run, rows, err)
}

// allFindings reads everything that is kept of what a run has found.
func (s *Service) allFindings(ctx context.Context, run Run) ([]Finding, error) {
	rows, err := s.db.Pool.Query(ctx, `SELECT `+findingFields+` FROM findings AS f
		WHERE f.org_id = $1 AND f.run_id = $2 ORDER BY f.step_ordinal, f.ordinal`, run.OrgID, run.ID)
	return collectFindings(run, rows, err)
}

func collectFindings(run Run, rows pgx.Rows, err error) ([]Finding, error) {
	var findings []Finding
	if err == nil {
		findings, err = pgx.CollectRows(rows, scanFinding)
	}
	if err != nil {
		return nil, fmt.Errorf("read the findings of run %s: %w", run.ID, err)
	}
	return findings, nil
}

// verdict reads what a run has come to, as reports show it.
func (s *Service) verdict(ctx context.Context, orgID, id uuid.UUID) (formats.Verdict, error) {
	detail, err := s.runDetail(ctx, orgID, id)
	if err != nil {
		return formats.Verdict{}, err
	}
	if detail.findings, err = s.allFindings(ctx, detail.run); err != nil {
		return formats.Verdict{}, err
	}
	var filename string
	err = s.db.Pool.QueryRow(ctx, `SELECT filename FROM submissions WHERE org_id = $1 AND id = $2`,
		orgID, detail.run.SubmissionID).Scan(&filename)
	if err != nil {
		return formats.Verdict{}, fmt.Errorf("read submission %s: %w", detail.run.SubmissionID, err)
	}
	if filename == "" {
		filename = "document"
	}
	return formats.Verdict{
		Workflow: detail.run.WorkflowSlug, At: detail.run.CreatedAt,
		Documents: []formats.Document{reportRun(detail, filename)},
	}, nil
}
