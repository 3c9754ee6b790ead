package audit

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
)

// auditEntry is an audit record as it is listed.
type auditEntry struct {
	ID         uuid.UUID
	CreatedAt  time.Time
	ActorID    *uuid.UUID
	ActorEmail string
	TokenID    *uuid.UUID
	TokenLabel string
	Action     string
	TargetType string
	TargetID   string
	RequestID  string
	Detail     string
}

func (e auditEntry) id() uuid.UUID { return e.ID }

// Filter narrows the audit log; empty members do not narrow.
type Filter struct {
	// Noun is what the listed actions begin with, or "all". Starts of runs are left out of both, and listed by
	// "everything".
	//nolint:lll // one tag
	Noun string `query:"noun" validate:"omitempty,oneof=everything all token member invitation session password user workflow run idempotency_key organization second_factor identity signing_secret"`

	Bounds
}

// Bounds narrow the audit log to a time.
type Bounds struct {
	Since string `query:"since" validate:"omitempty,datetime=2006-01-02T15:04:05Z07:00"`
	Until string `query:"until" validate:"omitempty,datetime=2006-01-02T15:04:05Z07:00"`
}

// idSlack is far more than the time between the creation of a record's id, which begins with a time, and created_at.
const idSlack = time.Minute

// condition adds the times to a condition. Their bounds of ids let the index answer them, and the exact times are
// compared record by record. The tags have validated the texts.
func (s Bounds) condition(condition string, args []any) (string, []any) {
	add := func(comparison string, at time.Time, id uuid.UUID) {
		args = append(args, at, id)
		condition += fmt.Sprintf(" AND a.created_at %[1]s $%[2]d AND a.id %[1]s $%[3]d", comparison, len(args)-1,
			len(args))
	}
	if at, err := time.Parse(time.RFC3339, s.Since); err == nil {
		add(">=", at, core.FirstIDAt(at.Add(-idSlack)))
	}
	if at, err := time.Parse(time.RFC3339, s.Until); err == nil {
		add("<", at, core.FirstIDAt(at.Add(idSlack)))
	}
	return condition, args
}

// audits reads one page of the audit log, newest first, and one row more.
func (s *Service) audits(
	ctx context.Context, orgID uuid.UUID, filter Filter, cursor core.Cursor,
) ([]auditEntry, error) {
	comparison, order, from := cursor.Window()
	condition, args := "a.org_id = $1", []any{orgID, from, cursor.Size + 1}
	if filter.Noun != "" && filter.Noun != "everything" {
		// The first condition is that of the index, which leaves out the starts, and the second is what it is over.
		condition = `a.action <> 'run.start' AND CASE WHEN a.action <> 'run.start' THEN a.org_id END = $1
			AND starts_with(a.action, $4)`
		args = append(args, strings.TrimPrefix(filter.Noun+".", "all."))
	}
	condition, args = filter.condition(condition, args)
	rows, err := s.db.Pool.Query(ctx, `
		SELECT a.id, a.created_at, a.actor_id, coalesce((SELECT email FROM users WHERE id = a.actor_id), ''),
			a.token_id,
			coalesce((SELECT label FROM api_tokens AS t WHERE t.org_id = a.org_id AND t.id = a.token_id), ''), a.action,
			a.target_type, a.target_id, a.request_id, a.detail
		FROM audit_records AS a
		WHERE `+condition+` AND a.id `+comparison+` $2 ORDER BY a.id `+order+` LIMIT $3`, args...)
	if err != nil {
		return nil, fmt.Errorf("list audit records: %w", err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[auditEntry])
	if err != nil {
		return nil, fmt.Errorf("list audit records: %w", err)
	}
	return found, nil
}
