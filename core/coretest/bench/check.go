package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// counts are an organization's rows after the load.
type counts struct {
	OrgID string
	// Runs, Keys and Used must be the same: every start had a key of its own.
	Runs, Keys, Used int64
	// Started are the runs that the service has made; the others are pgbench's.
	Started int64
	// Strays are runs whose key does not lead back to them.
	Strays int64
}

// check compares what the database holds with what was acknowledged. A run too many is one that a customer pays for and
// nobody has asked for; a run too few is a lost one.
func check(ctx context.Context, db *pgx.Conn, tenants []tenant) error {
	rows, err := db.Query(ctx, `
		SELECT o.id::text, coalesce(r.runs, 0), coalesce(k.keys, 0), coalesce(u.used, 0), coalesce(r.started, 0),
			coalesce(r.strays, 0)
		FROM organizations AS o
		LEFT JOIN (
			SELECT run.org_id, count(*) AS runs, count(*) FILTER (WHERE run.source = 'API') AS started,
				count(*) FILTER (WHERE key.id IS NULL) AS strays
			FROM validation_runs AS run
			LEFT JOIN idempotency_keys AS key ON key.org_id = run.org_id AND key.id = run.idempotency_key_id
				AND key.validation_run_id = run.id
			GROUP BY run.org_id
		) AS r ON r.org_id = o.id
		LEFT JOIN (
			SELECT org_id, count(*) AS keys FROM idempotency_keys WHERE user_agent <> 'expired' GROUP BY org_id
		) AS k ON k.org_id = o.id
		LEFT JOIN (SELECT org_id, sum(used)::bigint AS used FROM usage_counters GROUP BY org_id) AS u ON u.org_id = o.id
		ORDER BY o.id`)
	if err != nil {
		return fmt.Errorf("count rows: %w", err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[counts])
	if err != nil {
		return fmt.Errorf("count rows: %w", err)
	}
	if len(found) != len(tenants) {
		return fmt.Errorf("%d organizations, want %d", len(found), len(tenants))
	}
	var failures []error
	for i, got := range found {
		acknowledged := tenants[i].acknowledged.Load()
		if got.Runs != got.Keys || got.Runs != got.Used || got.Started != acknowledged || got.Strays != 0 {
			failures = append(failures, fmt.Errorf(
				"organization %s has %d runs, %d keys, %d used, %d strays; the service acknowledged %d of its %d runs",
				got.OrgID, got.Runs, got.Keys, got.Used, got.Strays, acknowledged, got.Started))
		}
	}
	return errors.Join(failures...)
}
