package validations

import (
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core/db"
)

// pendingDetail is a run of an organization and the results of its steps, once they are read.
type pendingDetail struct {
	orgID, id uuid.UUID
	// runs is the run, or empty if there is none.
	runs  []Run
	steps []StepRun
}

// queueDetail reads the run before its steps, so that it says which of them it knows of.
func queueDetail(reads *db.Reads, orgID, id uuid.UUID) *pendingDetail {
	pending := &pendingDetail{orgID: orgID, id: id}
	reads.Queue(db.AllInto(&pending.runs, pgx.RowToStructByName[Run]), `
		SELECT org_id, id, workflow_id, workflow_version, workflow_slug, definition_digest, submission_id, source,
			state, result, error, error_category, error_count, warning_count, info_count, recovery_point, epoch,
			attempts, usage_metric, usage_period, idempotency_key, idempotency_key_id, request_id, rerun_of, created_by,
			created_at, started_at, ended_at, content_purged_at, findings_purged_at
		FROM validation_runs WHERE org_id = $1 AND id = $2`, orgID, id)
	reads.Queue(db.AllInto(&pending.steps, pgx.RowToStructByName[StepRun]), `
		SELECT org_id, id, run_id, ordinal, step_id, name, status, error, error_count, warning_count, info_count,
			truncated, started_at, ended_at
		FROM step_runs WHERE org_id = $1 AND run_id = $2 ORDER BY ordinal`, orgID, id)
	return pending
}
