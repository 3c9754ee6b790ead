package validations

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/simplevalidations/simplevalidations/core"
)

// findingsPerPage is how many findings the page of a run lists at a time.
const findingsPerPage = 100

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

// runReport reads a run for its page.
func (a *App) runReport(ctx context.Context, orgID, id uuid.UUID, cursor core.Cursor) (runReport, error) {
	detail, err := a.Runs.runSteps(ctx, orgID, id)
	if err != nil {
		return runReport{}, err
	}
	report := runReport{runDetail: detail}
	if report.findings, err = a.Runs.listFindings(ctx, detail.run, cursor); err != nil {
		return runReport{}, err
	}
	if report.places, err = a.Runs.places(ctx, detail.run); err != nil {
		return runReport{}, err
	}
	if report.first, err = a.Runs.firstFinding(ctx, detail.run); err != nil {
		return runReport{}, err
	}
	report.submission, err = gorm.G[Submission](a.Runs.db.Gorm).
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
	replays, err := a.Keys.Replays(ctx, run.OrgID, []uuid.UUID{*run.IdempotencyKeyID})
	n, kept := replays[*run.IdempotencyKeyID]
	return keyUse{kept, n}, err
}
