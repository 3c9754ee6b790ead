package webhooks

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

// columns are those of a Webhook w.
const columns = `w.id, w.url, w.description, w.event_types, w.workflow_id, w.signature, w.header_names, w.created_at,
	w.rotated_at, w.disabled_at, w.disabled_reason, w.failing_since, to_timestamp(w.resend_after / 1000000.0)`

func scanWebhook(row pgx.CollectableRow) (Webhook, error) {
	return pgx.RowToStructByPos[Webhook](row)
}

// collect reads the one webhook of a query.
func collect(rows pgx.Rows, err error) (Webhook, error) {
	if err != nil {
		return Webhook{}, fmt.Errorf("read a webhook: %w", err)
	}
	w, err := pgx.CollectExactlyOneRow(rows, scanWebhook)
	if errors.Is(err, pgx.ErrNoRows) {
		return Webhook{}, core.NotFound("webhook")
	}
	if err != nil {
		return Webhook{}, fmt.Errorf("read a webhook: %w", err)
	}
	return w, nil
}

// find reads a webhook.
func (s *Service) find(ctx context.Context, orgID, id uuid.UUID) (Webhook, error) {
	return collect(s.db.Pool.Query(ctx, `SELECT `+columns+` FROM webhooks AS w WHERE org_id = $1 AND id = $2`,
		orgID, id))
}

func lock(ctx context.Context, tx db.Tx, orgID, id uuid.UUID) (Webhook, error) {
	return collect(tx.Query(ctx, `
		SELECT `+columns+` FROM webhooks AS w WHERE org_id = $1 AND id = $2 FOR NO KEY UPDATE`, orgID, id))
}

// list reads a page of webhooks.
func (s *Service) list(ctx context.Context, orgID uuid.UUID, cursor core.Cursor) ([]Webhook, error) {
	comparison, order, from := cursor.Window()
	rows, err := s.db.Pool.Query(ctx, `
		SELECT `+columns+` FROM webhooks AS w WHERE org_id = $1 AND id `+comparison+` $2
		ORDER BY id `+order+` LIMIT $3`, orgID, from, cursor.Size+1)
	if err != nil {
		return nil, fmt.Errorf("list webhooks: %w", err)
	}
	found, err := pgx.CollectRows(rows, scanWebhook)
	if err != nil {
		return nil, fmt.Errorf("list webhooks: %w", err)
	}
	return found, nil
}

// insert writes a new webhook. The organization's row is locked, so that two at once do not exceed the limit.
func insert(
	ctx context.Context, tx db.Tx, orgID uuid.UUID, w Webhook, sealed, headers []byte, record core.AuditRecord,
) (Webhook, error) {
	var count int
	err := tx.QueryRow(ctx, `
		WITH org AS (SELECT id FROM organizations WHERE id = $1 FOR NO KEY UPDATE)
		SELECT (SELECT count(*) FROM webhooks WHERE org_id = org.id) FROM org`, orgID).Scan(&count)
	if err != nil {
		return Webhook{}, fmt.Errorf("count webhooks: %w", err)
	}
	if count >= MaxWebhooks {
		return Webhook{}, core.InvalidPayload(
			fmt.Sprintf("An organization has %d webhooks at most. Delete one that is no longer used.", MaxWebhooks))
	}
	return write(ctx, tx, record, `
		INSERT INTO webhooks AS w (org_id, id, url, description, event_types, workflow_id, signature, header_names,
			sealed, sealed_headers)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
		orgID, w.ID, w.URL, w.Description, w.EventTypes, w.Workflow, w.Signature, w.Headers, sealed, headers)
}

// write writes a webhook w by a statement, audits it and returns what is stored.
func write(
	ctx context.Context, tx db.Tx, record core.AuditRecord, statement string, args ...any,
) (Webhook, error) {
	batch := tx.NewBatch()
	written := db.QueueInto(batch, func(rows pgx.Rows) (Webhook, error) { return collect(rows, nil) },
		statement+" RETURNING "+columns, args...)
	core.Audit(batch, record)
	if err := batch.Send(ctx); err != nil {
		return Webhook{}, err
	}
	return written.Get()
}

// update writes a changed webhook. What waits is due again once it is enabled.
func update(
	ctx context.Context, tx db.Tx, orgID uuid.UUID, w Webhook, wanted change, headers []byte, record core.AuditRecord,
) (Webhook, error) {
	return write(ctx, tx, record, `
		UPDATE webhooks AS w SET url = $3, description = $4, event_types = $5, workflow_id = $6, header_names = $7,
			sealed_headers = CASE WHEN $8 THEN $9 ELSE sealed_headers END,
			disabled_at = CASE WHEN $10 THEN NULL WHEN NOT $10 THEN coalesce(disabled_at, now()) ELSE disabled_at END,
			disabled_reason = CASE WHEN $10 THEN '' ELSE disabled_reason END,
			failing_since = CASE WHEN $10 AND disabled_at IS NOT NULL THEN NULL ELSE failing_since END
		WHERE org_id = $1 AND id = $2`,
		orgID, w.ID, w.URL, w.Description, w.EventTypes, w.Workflow, w.Headers, wanted.Headers != nil, headers,
		wanted.Enabled)
}

// readSealed reads the encrypted columns of a webhook.
func readSealed(ctx context.Context, tx db.Tx, orgID, id uuid.UUID) (sealedSecrets, error) {
	var sealed sealedSecrets
	err := tx.QueryRow(ctx, `SELECT `+sealedColumns+` FROM webhooks WHERE org_id = $1 AND id = $2`, orgID, id).
		Scan(&sealed.current, &sealed.previous, &sealed.headers)
	if err != nil {
		return sealedSecrets{}, fmt.Errorf("read the secrets of webhook %s: %w", id, err)
	}
	return sealed, nil
}

func rotateSecret(
	ctx context.Context, tx db.Tx, orgID, id uuid.UUID, sealed sealedSecrets, record core.AuditRecord,
) (Webhook, error) {
	return write(ctx, tx, record, `
		UPDATE webhooks AS w SET sealed = $3, sealed_previous = $4, rotated_at = now()
		WHERE org_id = $1 AND id = $2`, orgID, id, sealed.current, sealed.previous)
}

// test writes a test event for the webhook.
func test(ctx context.Context, tx db.Tx, who core.Principal, id uuid.UUID) (Event, error) {
	w, err := lock(ctx, tx, who.OrgID, id)
	if err != nil {
		return Event{}, err
	}
	record, err := audited(ctx, who, "test", w)
	if err != nil {
		return Event{}, err
	}
	batch := tx.NewBatch()
	core.Audit(batch, record)
	written := db.QueueInto(batch, func(rows pgx.Rows) (Event, error) {
		return pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[Event])
	}, `INSERT INTO events (org_id, type, data)
		VALUES ($1, 'webhook.test', json_build_object('webhook', $2::uuid)::text)
		RETURNING `+eventColumns, who.OrgID, id)
	if err := batch.Send(ctx); err != nil {
		return Event{}, fmt.Errorf("write a test event: %w", err)
	}
	return written.Get()
}

// resendOne makes one event due for the webhook.
func resendOne(ctx context.Context, tx db.Tx, orgID, id, event uuid.UUID) error {
	tag, err := tx.Exec(ctx, `
		WITH made AS (
			INSERT INTO webhook_deliveries AS d (org_id, webhook_id, position)
			SELECT org_id, $2, position FROM events WHERE org_id = $1 AND id = $3 AND position IS NOT NULL
			ON CONFLICT ON CONSTRAINT webhook_deliveries_pkey
				DO UPDATE SET due_at = now(), tries = 0, delivered = false
			RETURNING 1)
		UPDATE webhooks SET due_at = now() WHERE org_id = $1 AND id = $2 AND EXISTS (SELECT FROM made)`,
		orgID, id, event)
	if err != nil {
		return fmt.Errorf("send an event again: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return core.NotFound("event")
	}
	return nil
}

// resendSince lets the publisher make all events since a time due for the webhook. What it was still doing of that is
// done as well.
func resendSince(ctx context.Context, tx db.Tx, orgID, id uuid.UUID, since time.Time) error {
	_, err := tx.Exec(ctx, `
		UPDATE webhooks AS w SET resend_until = e.last,
			resend_after = least(w.resend_after, (extract(epoch FROM $3::timestamptz) * 1000000)::bigint - 1)
		FROM (SELECT max(position) AS last FROM events WHERE org_id = $1) AS e
		WHERE w.org_id = $1 AND w.id = $2 AND e.last IS NOT NULL`, orgID, id, since)
	if err != nil {
		return fmt.Errorf("send events again: %w", err)
	}
	return nil
}
