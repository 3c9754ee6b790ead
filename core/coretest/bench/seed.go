package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/docs"
)

const (
	// manyTenants organizations share the load in one half of the measurements; the one behind them carries it alone in
	// the other half.
	manyTenants = 1000
	allTenants  = manyTenants + 1

	// An organization's number is the end of its ids, so that pgbench can compute them.
	orgPrefix      = "00000000-0000-7000-8000-"
	workflowPrefix = "00000000-0000-7000-9000-"
	userID         = "00000000-0000-7000-a000-000000000001"
	// secretPrefix begins the tokens. Their database is private and ends with the benchmark.
	secretPrefix = "sv_bench-"

	tableStep = "schemas/meter-readings.table-step.json"
	document  = "good/meter-readings.csv"
)

// definition is a workflow's definition as the service stores it.
type definition struct {
	Accepts []string         `json:"accepts"`
	Steps   []definitionStep `json:"steps"`
}

type definitionStep struct {
	ID                string          `json:"id"`
	Name              string          `json:"name"`
	Type              string          `json:"type"`
	Config            json.RawMessage `json:"config"`
	ContinueOnFailure bool            `json:"continue_on_failure"`
}

// seed makes the organizations, each with a token, a workflow and no limit on its runs.
func seed(ctx context.Context, db *pgx.Conn) error {
	config, err := docs.Sample(tableStep)
	if err != nil {
		return err
	}
	body, err := json.Marshal(definition{
		Accepts: []string{"text/csv"},
		Steps:   []definitionStep{{ID: "table", Name: "Table", Type: "table", Config: config}},
	})
	if err != nil {
		return fmt.Errorf("encode definition: %w", err)
	}
	digest := sha256.Sum256(body)
	tx, err := db.Begin(ctx)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer func() { _ = tx.Rollback(ctx) }() // After the commit it does nothing.
	batch := &pgx.Batch{}
	// A benchmark that was killed may have left its rows where its folder could not be removed with it.
	batch.Queue(`TRUNCATE organizations, users, submissions, validation_runs, idempotency_keys, staged_jobs,
		audit_records CASCADE`)
	batch.Queue(`CREATE TABLE IF NOT EXISTS filled (n bigint NOT NULL)`)
	batch.Queue(`INSERT INTO users (id, email) VALUES ($1, 'bench@example.com')`, userID)
	batch.Queue(`INSERT INTO organizations (id, slug, name)
		SELECT ($1 || lpad(n::text, 12, '0'))::uuid, 'org-' || n, 'Organization ' || n
		FROM generate_series(1, $2::int) AS n`,
		orgPrefix, allTenants)
	batch.Queue(`INSERT INTO memberships (org_id, user_id, role) SELECT id, $1, 'executor' FROM organizations`, userID)
	batch.Queue(`INSERT INTO api_tokens (org_id, id, user_id, digest, prefix, label, role)
		SELECT id, gen_random_uuid(), $1, sha256(($2 || right(id::text, 12))::bytea), $2, 'benchmark', 'executor'
		FROM organizations`, userID, secretPrefix)
	batch.Queue(`INSERT INTO definitions (org_id, digest, body) SELECT id, $1, $2 FROM organizations`, digest[:], body)
	batch.Queue(`INSERT INTO workflows (org_id, id, slug, name, latest_version)
		SELECT id, ($1 || right(id::text, 12))::uuid, 'meter-readings', 'Meter readings', 1 FROM organizations`,
		workflowPrefix)
	batch.Queue(`INSERT INTO workflow_versions (org_id, workflow_id, number, definition_digest)
		SELECT org_id, id, 1, $1 FROM workflows`, digest[:])
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return fmt.Errorf("fill tables: %w", err)
	}
	if err := tx.Commit(ctx); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// analyzeSeeded gathers the statistics of the tables that have rows, which a service that has run for a while has too.
// Plans for tables that are still empty would be even worse.
func analyzeSeeded(ctx context.Context, db *pgx.Conn) error {
	if _, err := db.Exec(ctx, `VACUUM ANALYZE organizations, users, memberships, api_tokens, definitions, workflows,
		workflow_versions`); err != nil {
		return fmt.Errorf("gather statistics: %w", err)
	}
	return nil
}

// numbered is the end of an organization's ids and token.
func numbered(number int) string { return fmt.Sprintf("%012d", number) }

func orgID(number int) string { return orgPrefix + numbered(number) }

func startPath(number int) string {
	return strings.Join([]string{"/api/workflows/", workflowPrefix, numbered(number), "/start/"}, "")
}
