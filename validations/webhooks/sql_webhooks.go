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

const (
	// failingAfter is how long no attempt has succeeded before somebody should see why. By then three have failed.
	failingAfter = `interval '5 minutes'`
	// maxPending bounds the pending deliveries that are counted.
	maxPending = `10000`
)

// shown is a Webhook w.
const shown = `json_build_object('id', w.id, 'url', w.url, 'description', w.description, 'event_types', w.event_types,
	'workflow', w.workflow_id, 'signature', w.signature, 'headers', w.header_names,
	'state', CASE WHEN w.disabled_at IS NULL THEN 'active' ELSE 'disabled' END,
	'disabled_reason', w.disabled_reason, 'disabled_at', w.disabled_at, 'failing_since', w.failing_since,
	'failing', w.failing_since < now() - ` + failingAfter + `, 'secret_rotated_at', w.rotated_at,
	'recovering', to_timestamp(w.resend_after / 1000000.0), 'created_at', w.created_at,
	'pending_deliveries', (SELECT count(*) FROM (
		SELECT FROM webhook_deliveries WHERE webhook_id = w.id AND org_id = w.org_id AND due_at IS NOT NULL
		LIMIT ` + maxPending + `) AS pending))`

// one reads what a query has found.
func one[T any](row pgx.Row, what string) (T, error) {
	var found T
	err := row.Scan(&found)
	if errors.Is(err, pgx.ErrNoRows) {
		return found, core.NotFound(what)
	}
	if err != nil {
		return found, fmt.Errorf("read the %s: %w", what, err)
	}
	return found, nil
}

// find reads a webhook.
func (s *Service) find(ctx context.Context, orgID, id uuid.UUID) (Webhook, error) {
	return one[Webhook](s.db.Pool.QueryRow(ctx, `SELECT `+shown+` FROM webhooks AS w WHERE org_id = $1 AND id = $2`,
		orgID, id), "webhook")
}

func lock(ctx context.Context, tx db.Tx, orgID, id uuid.UUID) (Webhook, error) {
	return one[Webhook](tx.QueryRow(ctx, `
		SELECT `+shown+` FROM webhooks AS w WHERE org_id = $1 AND id = $2 FOR NO KEY UPDATE`, orgID, id), "webhook")
}

// list reads a page of webhooks.
func (s *Service) list(ctx context.Context, orgID uuid.UUID, cursor core.Cursor) ([]Webhook, error) {
	comparison, order, from := cursor.Window()
	return db.All(ctx, s.db.Pool, pgx.RowTo[Webhook], `
		SELECT `+shown+` FROM webhooks AS w WHERE org_id = $1 AND id `+comparison+` $2
		ORDER BY id `+order+` LIMIT $3`, orgID, from, cursor.Size+1)
}

// insert writes a new webhook. The organization's row is locked, so that two at once do not exceed the limit.
func insert(
	ctx context.Context, tx db.Tx, orgID, id uuid.UUID, wanted NewDraft, sealed []byte, names []string, headers []byte,
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
	return one[Webhook](tx.QueryRow(ctx, `
		INSERT INTO webhooks AS w (org_id, id, url, description, event_types, workflow_id, signature, header_names,
			sealed, sealed_headers)
		VALUES ($1, $2, $3, $4, coalesce($5::text[], '{}'), nullif($6, '')::uuid, coalesce(nullif($7, ''), 'v1'),
			coalesce($8::text[], '{}'), $9, $10)
		RETURNING `+shown,
		orgID, id, wanted.URL, wanted.Description, wanted.EventTypes, string(wanted.Workflow), wanted.Signature, names,
		sealed, headers), "webhook")
}

// update writes a changed webhook. What waits is due again once it is enabled.
func update(
	ctx context.Context, tx db.Tx, orgID, id uuid.UUID, wanted change, names []string, headers []byte,
) (Webhook, error) {
	return one[Webhook](tx.QueryRow(ctx, `
		UPDATE webhooks AS w SET url = $3, description = $4, event_types = coalesce($5::text[], '{}'),
			workflow_id = nullif($6, '')::uuid, header_names = coalesce($7::text[], header_names),
			sealed_headers = CASE WHEN $7::text[] IS NULL THEN sealed_headers ELSE $8 END,
			disabled_at = CASE WHEN $9 THEN NULL WHEN NOT $9 THEN coalesce(disabled_at, now()) ELSE disabled_at END,
			disabled_reason = CASE WHEN $9 THEN '' ELSE disabled_reason END,
			failing_since = CASE WHEN $9 AND disabled_at IS NOT NULL THEN NULL ELSE failing_since END
		WHERE org_id = $1 AND id = $2 RETURNING `+shown,
		orgID, id, wanted.URL, wanted.Description, wanted.EventTypes, string(wanted.Workflow), names, headers,
		wanted.Enabled), "webhook")
}

func erase(ctx context.Context, tx db.Tx, orgID, id uuid.UUID) (Webhook, error) {
	return one[Webhook](tx.QueryRow(ctx, `
		DELETE FROM webhooks AS w WHERE org_id = $1 AND id = $2 RETURNING `+shown, orgID, id), "webhook")
}

// readSealed locks a webhook and reads its encrypted columns.
func readSealed(ctx context.Context, tx db.Tx, orgID, id uuid.UUID) (sealedSecrets, error) {
	var sealed sealedSecrets
	err := tx.QueryRow(ctx, `
		SELECT `+sealedColumns+` FROM webhooks WHERE org_id = $1 AND id = $2 FOR NO KEY UPDATE`, orgID, id).
		Scan(&sealed.current, &sealed.previous, &sealed.headers)
	if errors.Is(err, pgx.ErrNoRows) {
		return sealedSecrets{}, core.NotFound("webhook")
	}
	if err != nil {
		return sealedSecrets{}, fmt.Errorf("read the secrets of webhook %s: %w", id, err)
	}
	return sealed, nil
}

// rotateSecret writes a new secret. One that is only a minute old is taken to have reached nobody, because its request
// was sent twice: then the one before it still signs.
func rotateSecret(ctx context.Context, tx db.Tx, orgID, id uuid.UUID, sealed sealedSecrets) (Webhook, error) {
	return one[Webhook](tx.QueryRow(ctx, `
		UPDATE webhooks AS w SET sealed = $3, rotated_at = now(),
			sealed_previous = CASE WHEN rotated_at > now() - interval '1 minute' THEN sealed_previous ELSE $4 END
		WHERE org_id = $1 AND id = $2 RETURNING `+shown, orgID, id, sealed.current, sealed.previous), "webhook")
}

// test writes a test event for the webhook.
func test(ctx context.Context, tx db.Tx, who core.Principal, id uuid.UUID) (Event, error) {
	w, err := lock(ctx, tx, who.OrgID, id)
	if err != nil {
		return Event{}, err
	}
	event, err := one[Event](tx.QueryRow(ctx, `
		INSERT INTO events AS e (org_id, type, data)
		VALUES ($1, 'webhook.test', json_build_object('webhook', $2::uuid)::text)
		RETURNING `+shownEvent, who.OrgID, id), "event")
	if err != nil {
		return Event{}, err
	}
	return event, audit(ctx, tx, who, "test", w)
}

// resendOne makes one event due for the webhook.
func resendOne(ctx context.Context, tx db.Tx, orgID, id uuid.UUID, event string) (Webhook, error) {
	return one[Webhook](tx.QueryRow(ctx, `
		WITH made AS (
			INSERT INTO webhook_deliveries AS d (org_id, webhook_id, position)
			SELECT org_id, $2, position FROM events WHERE org_id = $1 AND id = $3 AND position IS NOT NULL
			ON CONFLICT ON CONSTRAINT webhook_deliveries_pkey
				DO UPDATE SET due_at = now(), tries = 0, delivered = false
			RETURNING 1)
		UPDATE webhooks AS w SET due_at = now() WHERE org_id = $1 AND id = $2 AND EXISTS (SELECT FROM made)
		RETURNING `+shown, orgID, id, event), "event")
}

// resendSince lets the publisher make all events since a time due for the webhook. What it was still doing of that is
// done as well.
func resendSince(ctx context.Context, tx db.Tx, orgID, id uuid.UUID, since time.Time) (Webhook, error) {
	return one[Webhook](tx.QueryRow(ctx, `
		UPDATE webhooks AS w SET resend_until = e.last, resend_after = CASE WHEN e.last IS NOT NULL
			THEN least(w.resend_after, (extract(epoch FROM $3::timestamptz) * 1000000)::bigint - 1) END
		FROM (SELECT max(position) AS last FROM events WHERE org_id = $1) AS e
		WHERE w.org_id = $1 AND w.id = $2 RETURNING `+shown, orgID, id, since), "webhook")
}
