package validations

import (
	"context"

	"github.com/google/uuid"
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
	names, err := a.Runs.filenames(ctx, orgID, submissions)
	if err != nil {
		return nil, err
	}
	replays, err := a.Keys.Replays(ctx, orgID, keys)
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
