package users

import (
	"context"
	"fmt"
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
	Action     string
	TargetType string
	TargetID   string
	RequestID  string
	Detail     string
}

// audits reads one page of what was done in the organization, newest first, and one row more.
func (s *Service) audits(ctx context.Context, orgID uuid.UUID, cursor core.Cursor) ([]auditEntry, error) {
	comparison, order, from := cursor.Window()
	rows, err := s.db.Pool.Query(ctx, `
		SELECT a.id, a.created_at, a.actor_id, coalesce(u.email, ''), a.token_id, a.action, a.target_type, a.target_id,
			a.request_id, a.detail
		FROM audit_records AS a LEFT JOIN users AS u ON u.id = a.actor_id
		WHERE a.org_id = $1 AND a.id `+comparison+` $2 ORDER BY a.id `+order+` LIMIT $3`, orgID, from, cursor.Size+1)
	if err != nil {
		return nil, fmt.Errorf("list audit records: %w", err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[auditEntry])
	if err != nil {
		return nil, fmt.Errorf("list audit records: %w", err)
	}
	return found, nil
}

// audit records a deed of the principal in the transaction of the deed. A principal without a user is the operator.
func audit(ctx context.Context, tx core.Tx, principal core.Principal, record core.AuditRecord) error {
	id, err := core.NewID()
	if err != nil {
		return err
	}
	record.ID, record.OrgID, record.RequestID = id, principal.OrgID, core.RequestID(ctx)
	record.ActorID, record.TokenID = principal.UserID, principal.TokenID
	batch := tx.NewBatch()
	core.Audit(batch, record)
	return batch.Send(ctx)
}
