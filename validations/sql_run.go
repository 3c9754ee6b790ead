package validations

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/pages"
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

// Filenames reads the names of the documents of submissions.
func (s *Service) Filenames(ctx context.Context, orgID uuid.UUID, ids []uuid.UUID) (map[uuid.UUID]string, error) {
	names, err := db.Map[uuid.UUID, string](ctx, s.db.Pool, `
		SELECT u.id, u.filename FROM unnest($2::uuid[]) AS asked (id) CROSS JOIN LATERAL (
			SELECT id, filename FROM submissions WHERE org_id = $1 AND id = asked.id LIMIT 1) AS u`, orgID, ids)
	if err != nil {
		return nil, fmt.Errorf("read the names of documents: %w", err)
	}
	return names, nil
}

// searchedRuns bounds the runs that a search by request id scans: those since the time that the id begins with, or the
// newest runs if the id has no time because a client has chosen it.
const searchedRuns = 10_000

// hasPart is the condition of runs whose key or document's name contains a text. No index answers it: a page scans a
// bounded number of runs, and the next one goes on from there. A scalar subquery is not turned, like EXISTS, into a
// hash of all submissions.
const hasPart = `(idempotency_key ILIKE ? OR (SELECT named.filename ILIKE ? FROM submissions AS named
	WHERE named.org_id = validation_runs.org_id AND named.id = validation_runs.submission_id LIMIT 1))`

// likeText makes a text stand for itself in a pattern.
var likeText = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

// Search finds a run by its id or by the id of the request that has started it.
func (s *Service) Search(ctx context.Context, principal core.Principal, text string) ([]pages.Found, error) {
	id, _ := core.ParseID(text)
	from, order := uuid.Nil, "DESC"
	if id.Version() == 7 {
		from, order = core.FirstIDAt(time.Unix(id.Time().UnixTime()).Add(-idSlack)), "ASC"
	}
	found, err := db.All(ctx, s.db.Pool, func(row pgx.CollectableRow) (pages.Found, error) {
		f := pages.Found{Kind: "run"}
		var slug string
		err := row.Scan(&id, &slug, &f.At)
		f.Title = slug + " " + id.String()
		f.Address = pages.Base(principal.OrgSlug) + "runs/" + id.String() + "/"
		return f, err
	}, `
		SELECT id, workflow_slug, created_at FROM validation_runs WHERE org_id = $1 AND id = $2
		UNION
		SELECT id, workflow_slug, created_at FROM (
			SELECT id, workflow_slug, created_at, request_id FROM validation_runs
			WHERE org_id = $1 AND id >= $3 ORDER BY id `+order+` LIMIT $5) AS near
		WHERE request_id = $4`, principal.OrgID, id, from, text, searchedRuns)
	if err != nil {
		return nil, fmt.Errorf("search runs: %w", err)
	}
	return found, nil
}
