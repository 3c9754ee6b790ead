package validations

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"gorm.io/gorm"

	"github.com/simplevalidations/simplevalidations/core"
)

// RunFilter narrows a list of runs; empty members do not narrow.
type RunFilter struct {
	State          string `query:"state" validate:"omitempty,oneof=PENDING RUNNING COMPLETED"`
	Result         string `query:"result" validate:"omitempty,oneof=UNKNOWN PASS FAIL ERROR CANCELED TIMED_OUT"`
	Source         string `query:"source" validate:"omitempty,oneof=API DASHBOARD CLI"`
	Workflow       string `query:"workflow" validate:"max=100"`
	IdempotencyKey string `query:"idempotency_key" validate:"max=255"`
	Since          string `query:"since" validate:"omitempty,datetime=2006-01-02T15:04:05Z07:00"`
	Until          string `query:"until" validate:"omitempty,datetime=2006-01-02T15:04:05Z07:00"`
}

// idSlack is far more than passes between the making of a run's id and the time that it shows.
const idSlack = time.Minute

// runDetail is a run with everything that its page shows.
type runDetail struct {
	run        Run
	definition Definition
	steps      []StepRun
	findings   []Finding
}

// runDetail reads one run of the organization with its steps and the first findings of each.
func (s *Service) runDetail(ctx context.Context, orgID, id uuid.UUID) (runDetail, error) {
	detail, err := s.runSteps(ctx, orgID, id)
	if err != nil {
		return runDetail{}, err
	}
	detail.findings, err = s.firstFindings(ctx, orgID, id)
	return detail, err
}

// runSteps reads one run of the organization with its steps, without findings.
func (s *Service) runSteps(ctx context.Context, orgID, id uuid.UUID) (runDetail, error) {
	run, err := s.Find(ctx, orgID, id)
	if err != nil {
		return runDetail{}, err
	}
	detail := runDetail{run: run}
	if detail.definition, err = s.Definition(ctx, orgID, Digest(run.DefinitionDigest)); err != nil {
		return runDetail{}, err
	}
	detail.steps, err = gorm.G[StepRun](s.db.Gorm).Where("org_id = ? AND run_id = ?", orgID, id).
		Order("ordinal").Find(ctx)
	if err != nil {
		return runDetail{}, fmt.Errorf("read the steps of run %s: %w", id, err)
	}
	return detail, nil
}

// Find reads one run of the organization, without its steps.
func (s *Service) Find(ctx context.Context, orgID, id uuid.UUID) (Run, error) {
	run, err := gorm.G[Run](s.db.Gorm).Where("org_id = ? AND id = ?", orgID, id).Take(ctx)
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return Run{}, core.NotFound("run")
	}
	if err != nil {
		return Run{}, fmt.Errorf("read run %s: %w", id, err)
	}
	return run, nil
}

// state reads how far a run is.
func (s *Service) state(ctx context.Context, orgID, id uuid.UUID) (RunState, error) {
	var state RunState
	err := s.db.Pool.QueryRow(ctx, `SELECT state FROM validation_runs WHERE org_id = $1 AND id = $2`, orgID, id).
		Scan(&state)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", core.NotFound("run")
	}
	if err != nil {
		return "", fmt.Errorf("read the state of run %s: %w", id, err)
	}
	return state, nil
}

// show renders a run with its steps and the first findings of each.
func (s *Service) show(ctx context.Context, orgID uuid.UUID, orgSlug string, id uuid.UUID) (RunBody, error) {
	detail, err := s.runDetail(ctx, orgID, id)
	if err != nil {
		return RunBody{}, err
	}
	body := renderRun(detail.run, orgSlug)
	body.Steps = renderSteps(detail.run, detail.definition, detail.steps, detail.findings)
	return body, nil
}

// firstFindings reads one finding more per step than is shown, so that truncation can be told.
func (s *Service) firstFindings(ctx context.Context, orgID, runID uuid.UUID) ([]Finding, error) {
	rows, err := s.db.Pool.Query(ctx, `
		SELECT id, step_ordinal, ordinal, severity, code, message, path, line, "column", "row", excerpt, count,
			sample_rows, assertion_id, truncated
		FROM findings WHERE org_id = $1 AND run_id = $2 AND ordinal <= $3
		ORDER BY step_ordinal, ordinal`, orgID, runID, maxInlineIssues)
	if err != nil {
		return nil, fmt.Errorf("read the findings of run %s: %w", runID, err)
	}
	findings, err := pgx.CollectRows(rows, scanFinding)
	if err != nil {
		return nil, fmt.Errorf("read the findings of run %s: %w", runID, err)
	}
	return findings, nil
}

func scanFinding(row pgx.CollectableRow) (Finding, error) {
	var f Finding
	err := row.Scan(&f.ID, &f.StepOrdinal, &f.Ordinal, &f.Severity, &f.Code, &f.Message, &f.Path, &f.Line, &f.Column,
		&f.Row, &f.Excerpt, &f.Count, &f.SampleRows, &f.AssertionID, &f.Truncated)
	return f, err
}

// List reads one page of the organization's runs, newest first, and one row more.
func (s *Service) List(ctx context.Context, orgID uuid.UUID, filter RunFilter, cursor core.Cursor) ([]Run, error) {
	return s.listUpTo(ctx, orgID, filter, cursor, uuid.Nil)
}

// listUpTo is List that reads no farther than to a run; the zero UUID stands for the list's end.
func (s *Service) listUpTo(
	ctx context.Context, orgID uuid.UUID, filter RunFilter, cursor core.Cursor, last uuid.UUID,
) ([]Run, error) {
	comparison, order, from := cursor.Window()
	query := narrow(s.ofOrg(ctx, orgID), filter).Where("id "+comparison+" ?", from).
		Order("id " + order).Limit(cursor.Size + 1)
	switch {
	case last == uuid.Nil:
	case cursor.Backward:
		query = query.Where("id <= ?", last)
	default:
		query = query.Where("id >= ?", last)
	}
	var runs []Run
	if err := query.Find(&runs).Error; err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	return runs, nil
}

func (s *Service) ofOrg(ctx context.Context, orgID uuid.UUID) *gorm.DB {
	return s.db.Gorm.WithContext(ctx).Model(&Run{}).Where("org_id = ?", orgID)
}

func narrow(query *gorm.DB, filter RunFilter) *gorm.DB {
	for column, value := range map[string]string{
		"state = ?": filter.State, "result = ?": filter.Result, "source = ?": filter.Source,
		"idempotency_key = ?": filter.IdempotencyKey,
	} {
		if value != "" {
			query = query.Where(column, value)
		}
	}
	if filter.State == string(StatePending) || filter.State == string(StateRunning) {
		// As the sweeper's index has it: unfinished runs are few among all.
		query = query.Where("sweep_after IS NOT NULL")
	}
	// The tags have checked the texts. PostgreSQL reads fewer forms of a time than Go, so it gets the time itself. The
	// bounds of the ids, which begin with the time of their making, keep it to that part of the list.
	if at, err := time.Parse(time.RFC3339, filter.Since); err == nil {
		query = query.Where("created_at >= ? AND id >= ?", at, core.FirstIDAt(at.Add(-idSlack)))
	}
	if at, err := time.Parse(time.RFC3339, filter.Until); err == nil {
		query = query.Where("created_at < ? AND id < ?", at, core.FirstIDAt(at.Add(idSlack)))
	}
	if filter.Workflow == "" {
		return query
	}
	if id, ok := core.ParseID(filter.Workflow); ok {
		return query.Where("workflow_id = ?", id)
	}
	return query.Where("workflow_slug = ?", filter.Workflow)
}
