package archive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
)

// restPoll is how often what is unfinished is counted.
const restPoll = 200 * time.Millisecond

// movedTo returns the cell that the organization was given to; empty where it is still here.
func (m Move) movedTo(ctx context.Context) (string, error) {
	var cell string
	err := m.From.DB.Pool.QueryRow(ctx, `SELECT coalesce(moved_to, '') FROM organizations WHERE id = $1`, m.OrgID).
		Scan(&cell)
	if err != nil {
		return "", fmt.Errorf("look for the organization: %w", err)
	}
	return cell, nil
}

// documentsThere returns the ids of the submissions that are in the new cell, and of their uploads. A submission comes
// after all chunks of its upload.
func (m Move) documentsThere(ctx context.Context) ([]uuid.UUID, error) {
	ids, err := db.All(ctx, m.To.DB.Pool, pgx.RowTo[uuid.UUID], `
		SELECT id FROM submissions WHERE org_id = $1
		UNION ALL SELECT upload_id FROM submissions WHERE org_id = $1 AND upload_id IS NOT NULL`, m.OrgID)
	if err != nil {
		return nil, fmt.Errorf("list the documents in the new cell: %w", err)
	}
	return ids, nil
}

// stop lets the organization only read, for a while.
func (m Move) stop(ctx context.Context) (time.Time, error) {
	until, err := db.InTx(ctx, m.From.DB, func(tx db.Tx) (time.Time, error) {
		var until time.Time
		err := tx.QueryRow(ctx, `
			UPDATE organizations SET moving_until = clock_timestamp() + $2::interval
			WHERE id = $1 AND moved_to IS NULL AND import_digest IS NULL RETURNING moving_until`, m.OrgID, m.Within).
			Scan(&until)
		if err != nil {
			return until, err
		}
		return until, core.AuditIn(ctx, tx, m.record("organization.move", "to the cell "+m.Cell))
	})
	if err != nil {
		return time.Time{}, fmt.Errorf("stop the organization: %w", err)
	}
	return until, nil
}

// goOn lets an organization start runs here again that was stopped and not given up.
func (m Move) goOn(ctx context.Context, until time.Time) error {
	_, err := m.From.DB.Pool.Exec(context.WithoutCancel(ctx), `
		UPDATE organizations SET moving_until = NULL WHERE id = $1 AND moving_until = $2 AND moved_to IS NULL`,
		m.OrgID, until)
	if err != nil {
		return fmt.Errorf("let the organization go on: %w", err)
	}
	return nil
}

// awaitRest waits until requests that were accepted before the stop must have ended, and all runs have.
func (m Move) awaitRest(ctx context.Context, until time.Time) error {
	for {
		var rests bool
		err := m.From.DB.Pool.QueryRow(ctx, `
			SELECT $2::timestamptz - $3::interval + $4::interval <= clock_timestamp()
				AND NOT EXISTS (SELECT FROM validation_runs WHERE org_id = $1 AND state <> 'COMPLETED')
				AND NOT EXISTS (SELECT FROM idempotency_keys WHERE org_id = $1 AND recovery_point <> 'finished')`,
			m.OrgID, until, m.Within, m.Rest).Scan(&rests)
		switch {
		case err != nil:
			return fmt.Errorf("wait for the rest: %w", err)
		case rests:
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(restPoll):
		}
	}
}

// giveUp is the moment from which nothing can be started here. The counters that a start raises go first: a start that
// has raised one is waited for and counted, and any other one finds none. Tokens are known from then on as those of the
// new cell.
func (m Move) giveUp(ctx context.Context, until time.Time, copied int64) error {
	err := db.Do(ctx, m.From.DB, func(tx db.Tx) error {
		tag, err := tx.Exec(ctx, `
			UPDATE organizations SET moved_to = $3
			WHERE id = $1 AND moving_until = $2 AND moving_until > clock_timestamp() AND moved_to IS NULL`,
			m.OrgID, until, m.Cell)
		switch {
		case err != nil:
			return err
		case tag.RowsAffected() == 0:
			return ErrTooSlow
		}
		if _, err := tx.Exec(ctx, `DELETE FROM usage_counters WHERE org_id = $1`, m.OrgID); err != nil {
			return err
		}
		var runs int64
		err = tx.QueryRow(ctx, `SELECT count(*) FROM validation_runs WHERE org_id = $1`, m.OrgID).Scan(&runs)
		switch {
		case err != nil:
			return err
		case runs != copied:
			return fmt.Errorf("%w: a run was started that is not copied", ErrUnfinished)
		}
		_, err = tx.Exec(ctx, `
			WITH gone AS (DELETE FROM api_tokens WHERE org_id = $1 RETURNING digest)
			INSERT INTO moved_tokens (digest, cell) SELECT digest, $2 FROM gone
			ON CONFLICT (digest) DO UPDATE SET cell = excluded.cell`, m.OrgID, m.Cell)
		return err
	})
	if err != nil {
		return fmt.Errorf("give the organization up: %w", err)
	}
	return nil
}

// activate lets the organization start runs in the new cell, unless it was suspended, after the former one has given it
// up. It is refused where not all of it is there, because another database was named.
func (m Move) activate(ctx context.Context) error {
	var runs int64
	var suspended *time.Time
	err := m.From.DB.Pool.QueryRow(ctx, `
		SELECT suspended_at, (SELECT count(*) FROM validation_runs WHERE org_id = $1) FROM organizations WHERE id = $1`,
		m.OrgID).Scan(&suspended, &runs)
	if err != nil {
		return fmt.Errorf("look at the former cell: %w", err)
	}
	err = db.Do(ctx, m.To.DB, func(tx db.Tx) error {
		var isThere, isComplete bool
		err := tx.QueryRow(ctx, `
			SELECT import_digest IS NULL, (SELECT count(*) FROM validation_runs WHERE org_id = $1) >= $2
			FROM organizations WHERE id = $1 FOR UPDATE`, m.OrgID, runs).Scan(&isThere, &isComplete)
		switch {
		case errors.Is(err, pgx.ErrNoRows) || err == nil && !isComplete:
			return fmt.Errorf("%w: this is not the cell that the organization was given to", ErrForeign)
		case err != nil || isThere:
			return err
		}
		batch := tx.NewBatch()
		batch.Queue(`UPDATE organizations SET import_digest = NULL, suspended_at = $2 WHERE id = $1`,
			m.OrgID, suspended)
		// Those of an organization that comes back.
		batch.Queue(`DELETE FROM moved_tokens WHERE digest IN (SELECT digest FROM api_tokens WHERE org_id = $1)`,
			m.OrgID)
		core.Audit(batch, m.record("organization.import", m.Slug))
		return batch.Send(ctx)
	})
	if err != nil {
		return fmt.Errorf("take the organization over: %w", err)
	}
	return nil
}

func (m Move) record(action, detail string) core.AuditRecord {
	return core.AuditRecord{
		OrgID: m.OrgID, Action: action, TargetType: "organization", TargetID: m.OrgID.String(), Detail: detail,
	}
}

// takeOver ends earlier imports of the organization, and removes what they have left but documents: it may have changed
// since.
func (i *importer) takeOver(ctx context.Context, row []byte) error {
	_, err := i.tx.Exec(ctx, `UPDATE organizations SET import_digest = $2 WHERE id = $1`, i.header.Organization,
		i.digest[:])
	if err != nil || i.part.documents {
		return refused(organizations, err)
	}
	if err := i.commit(ctx); err != nil {
		return err
	}
	documents := db.Column(tables(), func(t *table) string {
		if t.document == "" {
			return ""
		}
		return t.name
	})
	documents = append(documents, uploadObjects)
	_, err = emptyTenantTables(ctx, i.database, i.header.Organization, "", slices.DeleteFunc(tenantTables(),
		func(t tenantTable) bool { return slices.Contains(documents, t.name) }))
	if err != nil {
		return err
	}
	if err := i.claim(ctx); err != nil {
		return err
	}
	// The other tables go with the organization; a version refers to its definition.
	for _, statement := range []string{
		`DELETE FROM workflows WHERE org_id = $1`, `DELETE FROM organizations WHERE id = $1`,
	} {
		if _, err := i.tx.Exec(ctx, statement, i.header.Organization); err != nil {
			return fmt.Errorf("remove what an earlier move has left: %w", err)
		}
	}
	return i.create(ctx, row)
}
