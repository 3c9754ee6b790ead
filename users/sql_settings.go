package users

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
)

const settingsQuery = `SELECT id, slug, name, created_at, suspended_at IS NOT NULL, key_required,
	extract(epoch FROM key_lifetime)::float8, extract(epoch FROM content_retention)::float8,
	extract(epoch FROM findings_retention)::float8, run_quota, overage_billing, max_tokens
	FROM organizations WHERE id = $1`

func scanSettings(row pgx.Row) (orgSettings, error) {
	var o orgSettings
	var lifetime, content, findings *float64
	err := row.Scan(&o.ID, &o.Slug, &o.Name, &o.CreatedAt, &o.Suspended, &o.KeyRequired, &lifetime, &content, &findings,
		&o.RunQuota, &o.Overage, &o.MaxTokens)
	if err != nil {
		return orgSettings{}, fmt.Errorf("read the settings of an organization: %w", err)
	}
	o.KeyLifetime, o.Content, o.Findings = period(lifetime), period(content), period(findings)
	return o, nil
}

func period(seconds *float64) *time.Duration {
	if seconds == nil {
		return nil
	}
	return new(core.Seconds(*seconds))
}

func (s *Service) orgSettings(ctx context.Context, orgID uuid.UUID) (orgSettings, error) {
	return scanSettings(s.db.Pool.QueryRow(ctx, settingsQuery, orgID))
}

func lockSettings(ctx context.Context, tx db.Tx, orgID uuid.UUID) (orgSettings, error) {
	return scanSettings(tx.QueryRow(ctx, settingsQuery+` FOR NO KEY UPDATE`, orgID))
}

func updateSettings(ctx context.Context, tx db.Tx, o orgSettings) error {
	_, err := tx.Exec(ctx, `UPDATE organizations SET name = $2, key_required = $3,
		key_lifetime = make_interval(secs => $4), content_retention = make_interval(secs => $5),
		findings_retention = make_interval(secs => $6) WHERE id = $1`,
		o.ID, o.Name, o.KeyRequired, inSeconds(o.KeyLifetime), inSeconds(o.Content), inSeconds(o.Findings))
	if err != nil {
		return fmt.Errorf("change the settings of organization %s: %w", o.ID, err)
	}
	return nil
}

func inSeconds(period *time.Duration) *float64 {
	if period == nil {
		return nil
	}
	return new(period.Seconds())
}
