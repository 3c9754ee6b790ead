package account

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
)

// Audit records an action of the principal in the transaction of the action. A principal without a user is the
// operator.
func Audit(ctx context.Context, tx db.Tx, principal core.Principal, record core.AuditRecord) error {
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

// AuditUser records an action on a user's account in the transaction of the action: once in each organization that the
// user belongs to. If there is none, the record's organization is the zero UUID. The zero actor is the operator.
func AuditUser(ctx context.Context, tx db.GormTx, actor, userID uuid.UUID, action, detail string) error {
	var orgs []uuid.UUID
	err := tx.Gorm(ctx).Table("memberships").Where("user_id = ?", userID).Order("org_id").Pluck("org_id", &orgs).Error
	if err != nil {
		return fmt.Errorf("list the organizations of user %s: %w", userID, err)
	}
	if len(orgs) == 0 {
		orgs = []uuid.UUID{uuid.Nil}
	}
	records := make([]core.AuditRecord, len(orgs))
	for i, orgID := range orgs {
		id, err := core.NewID()
		if err != nil {
			return err
		}
		records[i] = core.AuditRecord{
			ID: id, OrgID: orgID, ActorID: actor, Action: action, TargetType: "user", TargetID: userID.String(),
			RequestID: core.RequestID(ctx), Detail: detail,
		}
	}
	batch := tx.NewBatch()
	core.Audit(batch, records...)
	return batch.Send(ctx)
}

// RecordAction audits an action that has changed nothing else.
func (s *Service) RecordAction(ctx context.Context, actor, userID uuid.UUID, action, detail string) error {
	return db.DoGorm(ctx, s.db, func(tx db.GormTx) error {
		return AuditUser(ctx, tx, actor, userID, action, detail)
	})
}
