package validations

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"gorm.io/gorm"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/validations/engines"
)

const (
	// findingsPerPage is how many findings the page of a run lists at a time.
	findingsPerPage = 100
	// maxPlaces bounds what is looked at to tell where in a document its findings are, and which rules they broke.
	maxPlaces = 5000
)

// listedRun is a run of a list, with the name of its document and how often its key was replayed.
type listedRun struct {
	Run
	Filename string
	Replays  int64
}

// listed adds to the runs of a page what a list shows beside them.
func (a *App) listed(ctx context.Context, orgID uuid.UUID, runs []Run) ([]listedRun, error) {
	submissions := make([]uuid.UUID, len(runs))
	var keys []uuid.UUID
	for i, run := range runs {
		submissions[i] = run.SubmissionID
		if run.IdempotencyKeyID != nil {
			keys = append(keys, *run.IdempotencyKeyID)
		}
	}
	names, err := a.service.filenames(ctx, orgID, submissions)
	if err != nil {
		return nil, err
	}
	replays, err := a.others.Keys.Replays(ctx, orgID, keys)
	if err != nil {
		return nil, err
	}
	rows := make([]listedRun, len(runs))
	for i, run := range runs {
		rows[i] = listedRun{Run: run, Filename: names[run.SubmissionID]}
		if run.IdempotencyKeyID != nil {
			rows[i].Replays = replays[*run.IdempotencyKeyID]
		}
	}
	return rows, nil
}

// filenames reads the names of documents by the ids of their submissions.
func (s *Service) filenames(ctx context.Context, orgID uuid.UUID, ids []uuid.UUID) (map[uuid.UUID]string, error) {
	found, err := gorm.G[Submission](s.db.Gorm).Select("id", "filename").
		Where("org_id = ? AND id IN ?", orgID, ids).Find(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the names of documents: %w", err)
	}
	names := make(map[uuid.UUID]string, len(found))
	for _, submission := range found {
		names[submission.ID] = submission.Filename
	}
	return names, nil
}

// runReport is a run with everything that its page shows. The findings are one page of them and one more.
type runReport struct {
	runDetail
	submission Submission
	// first is the finding to begin with; nil where nothing was found or nothing is kept.
	first  *Finding
	places []place
	key    keyUse
}

// keyUse is what is known of a run's key.
type keyUse struct {
	kept    bool
	replays int64
}

// place is where one finding is, and which rule it is of.
type place struct {
	Step     int
	Severity engines.Severity
	Code     string
	Line     int
	// Truncated says that it stands for more than are kept.
	Truncated bool
}

// runReport reads a run for its page.
func (a *App) runReport(ctx context.Context, orgID, id uuid.UUID, cursor core.Cursor) (runReport, error) {
	detail, err := a.service.runSteps(ctx, orgID, id)
	if err != nil {
		return runReport{}, err
	}
	report := runReport{runDetail: detail}
	if report.findings, err = a.service.listFindings(ctx, detail.run, cursor); err != nil {
		return runReport{}, err
	}
	if report.places, err = a.service.places(ctx, detail.run); err != nil {
		return runReport{}, err
	}
	if report.first, err = a.service.firstFinding(ctx, detail.run); err != nil {
		return runReport{}, err
	}
	report.submission, err = gorm.G[Submission](a.service.db.Gorm).
		Select("id", "media_type", "filename", "name", "short_description", "size", "sha256").
		Where("org_id = ? AND id = ?", orgID, detail.run.SubmissionID).Take(ctx)
	if err != nil {
		return runReport{}, fmt.Errorf("read submission %s: %w", detail.run.SubmissionID, err)
	}
	report.key, err = a.keyOf(ctx, detail.run)
	return report, err
}

func (a *App) keyOf(ctx context.Context, run Run) (keyUse, error) {
	if run.IdempotencyKeyID == nil {
		return keyUse{}, nil
	}
	replays, err := a.others.Keys.Replays(ctx, run.OrgID, []uuid.UUID{*run.IdempotencyKeyID})
	n, kept := replays[*run.IdempotencyKeyID]
	return keyUse{kept, n}, err
}

// places reads where the findings of a run are.
func (s *Service) places(ctx context.Context, run Run) ([]place, error) {
	rows, err := s.db.Pool.Query(ctx, `
		SELECT step_ordinal, severity, code, line, truncated FROM findings
		WHERE org_id = $1 AND run_id = $2 ORDER BY step_ordinal, ordinal LIMIT $3`, run.OrgID, run.ID, maxPlaces)
	if err != nil {
		return nil, fmt.Errorf("read where the findings of run %s are: %w", run.ID, err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[place])
	if err != nil {
		return nil, fmt.Errorf("read where the findings of run %s are: %w", run.ID, err)
	}
	return found, nil
}

// firstFinding reads the finding that people should look at first: an error where there is one.
func (s *Service) firstFinding(ctx context.Context, run Run) (*Finding, error) {
	rows, err := s.db.Pool.Query(ctx, `SELECT `+findingFields+` FROM findings AS f
		WHERE f.org_id = $1 AND f.run_id = $2
		ORDER BY array_position(ARRAY['ERROR', 'WARNING', 'INFO'], f.severity), f.step_ordinal, f.ordinal LIMIT 1`,
		run.OrgID, run.ID)
	found, err := collectFindings(run, rows, err)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

// newest returns the id of the organization's newest run; the zero UUID where there is none.
func (s *Service) newest(ctx context.Context, orgID uuid.UUID) (uuid.UUID, error) {
	runs, err := s.List(ctx, orgID, RunFilter{}, core.Cursor{})
	if err != nil || len(runs) == 0 {
		return uuid.Nil, err
	}
	return runs[0].ID, nil
}

// countNewer counts the runs that pass the filter and are newer than a run, up to a limit.
func (s *Service) countNewer(
	ctx context.Context, orgID uuid.UUID, filter RunFilter, than uuid.UUID, limit int,
) (int, error) {
	newer := core.Cursor{ID: than, Backward: true, Size: limit - 1}
	runs, err := s.List(ctx, orgID, filter, newer)
	return len(runs), err
}

// progresses reads how far each of some runs is, with what it has come to.
func (s *Service) progresses(ctx context.Context, orgID uuid.UUID, ids []uuid.UUID) (map[uuid.UUID]Run, error) {
	runs, err := gorm.G[Run](s.db.Gorm).Where("org_id = ? AND id IN ?", orgID, ids).Find(ctx)
	if err != nil {
		return nil, fmt.Errorf("read how far runs are: %w", err)
	}
	found := make(map[uuid.UUID]Run, len(runs))
	for _, run := range runs {
		found[run.ID] = run
	}
	return found, nil
}
