package archive

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
)

// tenantBatch bounds the rows that one statement deletes, so that no lock is held for long.
const tenantBatch = 1000

// mostTries bounds how often a deletion begins again after a late start, and a statement after a deadlock. What fails
// each time is neither.
const mostTries = 100

// tenantTable is a table whose rows belong to organizations.
type tenantTable struct {
	name string
	// order says which rows are deleted first; empty where that does not matter.
	order string
}

// tenantTables are all of them, those that refer to others first.
func tenantTables() []tenantTable {
	return []tenantTable{
		{name: "findings"},
		{name: "step_runs"},
		{name: "external_calls"},
		{name: "webhook_attempts"},
		{name: "webhook_deliveries"},
		{name: "webhooks"},
		{name: "events"},
		{name: "key_events"},
		{name: "key_activity"},
		{name: "key_activity_days"},
		{name: "idempotency_keys"},
		{name: "staged_jobs"},
		{name: "validation_runs", order: "ORDER BY id DESC"}, // A rerun refers to a run before it.
		{name: "submissions"},
		{name: uploadChunks},
		{name: uploadObjects},
		{name: "uploads"},
		{name: "start_hours"},
		{name: "request_log"},
		{name: "refusal_days"},
		{name: "audit_records"},
	}
}

// smallTenantTables are deleted by the database with the row of the organization. They have few rows, and refer to each
// other.
func smallTenantTables() []string {
	return []string{
		"api_tokens", "definitions", "invitations", "memberships", "signing_keys", "signing_secrets", "usage_counters",
		"workflow_drafts", "workflow_versions", "workflows",
	}
}

// Count counts the rows of an organization in each table.
func Count(ctx context.Context, database *db.DB, orgID uuid.UUID) (map[string]int64, error) {
	counts := make(map[string]int64)
	names := append(db.Column(tenantTables(), func(t *tenantTable) string { return t.name }), smallTenantTables()...)
	for _, name := range names {
		var n int64
		err := database.Pool.QueryRow(ctx, "SELECT count(*) FROM "+name+" WHERE org_id = $1", orgID).Scan(&n)
		if err != nil {
			return nil, fmt.Errorf("count %s: %w", name, err)
		}
		counts[name] = n
	}
	return counts, nil
}

var errNotSuspended = errors.New("suspend the organization first: org set SLUG --suspended --reason TEXT")

// Delete deletes a suspended organization with all its rows. It works in batches and continues where it was when
// it is called again. The organization itself is deleted after them, so until then it can be found by its slug.
//
// Requests that were accepted before the suspension may still write. Those that refer to the organization are refused
// by the database when it is gone. For the others the tables are emptied once more, and PurgeDeleted deletes what comes
// even later.
func Delete(ctx context.Context, database *db.DB, orgID uuid.UUID, detail string) error {
	var suspended bool
	err := database.Pool.QueryRow(ctx, `SELECT suspended_at IS NOT NULL OR moved_to IS NOT NULL
		FROM organizations WHERE id = $1`,
		orgID).Scan(&suspended)
	isThere := !errors.Is(err, pgx.ErrNoRows)
	switch {
	case isThere && err != nil:
		return fmt.Errorf("look for the organization: %w", err)
	case isThere && !suspended:
		return errNotSuspended
	case isThere:
		err := deleteAll(ctx, database, orgID, detail)
		// A start that was accepted before the suspension has come after its table was emptied.
		for again := 0; again < mostTries && db.ViolatedConstraint(err) != ""; again++ {
			err = deleteAll(ctx, database, orgID, detail)
		}
		if err != nil {
			return err
		}
	}
	_, err = emptyTenantTables(ctx, database, orgID, isGone, tenantTables())
	return err
}

// deleteAll deletes the rows of a suspended organization, and then the organization.
func deleteAll(ctx context.Context, database *db.DB, orgID uuid.UUID, detail string) error {
	if _, err := emptyTenantTables(ctx, database, orgID, "", tenantTables()); err != nil {
		return err
	}
	return deleteOrganization(ctx, database, orgID, detail)
}

// PurgeDeleted deletes the rows that were written of organizations after their deletion: counts and log entries that a
// process had kept in memory, for a moment or while it was frozen, and what a deletion has left that was killed at its
// end.
func PurgeDeleted(ctx context.Context, database *db.DB) (int64, error) {
	deleted, err := db.All(ctx, database.Pool, pgx.RowTo[uuid.UUID], `
		SELECT DISTINCT target_id::uuid FROM audit_records
		WHERE org_id = $1 AND action = $2 AND created_at > now() - $3::interval`,
		uuid.Nil, auditDeletion, remnantPeriod)
	if err != nil {
		return 0, fmt.Errorf("list deleted organizations: %w", err)
	}
	var purged int64
	for _, orgID := range deleted {
		n, err := emptyTenantTables(ctx, database, orgID, isGone, tenantTables())
		purged += n
		if err != nil {
			return purged, err
		}
	}
	return purged, nil
}

const (
	// auditDeletion is the action of the record that remains of an organization.
	auditDeletion = "organization.delete"
	// remnantPeriod is how long rows of a deleted organization are looked for.
	remnantPeriod = 7 * 24 * time.Hour
	// isGone keeps the rows of an organization that was imported again. An import creates it before them.
	isGone = "AND NOT EXISTS (SELECT FROM organizations WHERE id = $1)"
)

// emptyTenantTables deletes the rows of an organization under a condition, and returns how many there were.
func emptyTenantTables(
	ctx context.Context, database *db.DB, orgID uuid.UUID, condition string, tables []tenantTable,
) (int64, error) {
	var deleted int64
	for _, table := range tables {
		statement := fmt.Sprintf(`DELETE FROM %s WHERE ctid = ANY (ARRAY(
			SELECT ctid FROM %[1]s WHERE org_id = $1 %s %s LIMIT $2))`, table.name, condition, table.order)
		for again := 0; ; {
			tag, err := database.Pool.Exec(ctx, statement, orgID, tenantBatch)
			if db.IsContention(err) && again < mostTries { // With those who still work on the rows.
				again++
				continue
			}
			if err != nil {
				return deleted, fmt.Errorf("delete from %s: %w", table.name, err)
			}
			if tag.RowsAffected() == 0 {
				break
			}
			deleted += tag.RowsAffected()
		}
	}
	return deleted, nil
}

// deleteOrganization deletes the row of a suspended organization and what refers to it. The audit record belongs to no
// organization, so that it stays.
func deleteOrganization(ctx context.Context, database *db.DB, orgID uuid.UUID, detail string) error {
	err := db.Do(ctx, database, func(tx db.Tx) error {
		batch := tx.NewBatch()
		// A version refers to its definition, and the database deletes what refers to the organization in any order.
		batch.Queue(`DELETE FROM workflows WHERE org_id = $1`, orgID)
		batch.Queue(`DELETE FROM organizations
			WHERE id = $1 AND (suspended_at IS NOT NULL OR moved_to IS NOT NULL)`, orgID)
		core.Audit(batch, core.AuditRecord{
			Action: auditDeletion, TargetType: "organization", TargetID: orgID.String(),
			Detail: detail,
		})
		return batch.Send(ctx)
	})
	if err != nil {
		return fmt.Errorf("delete the organization: %w", err)
	}
	return nil
}
