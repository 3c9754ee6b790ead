package account

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
)

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
		records[i] = core.AuditRecord{
			OrgID: orgID, ActorID: actor, Action: action, TargetType: "user", TargetID: userID.String(),
			RequestID: core.RequestID(ctx), Detail: detail,
		}
	}
	return core.AuditIn(ctx, tx.Tx, records...)
}

// RecordAction audits an action that has changed nothing else.
func (s *Service) RecordAction(ctx context.Context, actor, userID uuid.UUID, action, detail string) error {
	return db.DoGorm(ctx, s.db, func(tx db.GormTx) error {
		return AuditUser(ctx, tx, actor, userID, action, detail)
	})
}
