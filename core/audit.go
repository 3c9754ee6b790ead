package core

import (
	"context"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/db"
)

// AuditRecord says who did what to which thing of an organization. It is written in the transaction of
// the action, so there is never one without the other.
type AuditRecord struct {
	OrgID      uuid.UUID
	ActorID    uuid.UUID // the zero UUID is the operator or the service itself
	TokenID    uuid.UUID
	Action     string // noun.verb, for example run.start
	TargetType string
	TargetID   string
	RequestID  string
	Detail     string
}

// AuditBy writes what the principal does, in the transaction of the action. A principal without a user is the operator.
func AuditBy(ctx context.Context, tx db.Tx, principal Principal, record AuditRecord) error {
	record.OrgID, record.RequestID = principal.OrgID, RequestID(ctx)
	record.ActorID, record.TokenID = principal.UserID, principal.TokenID
	return AuditIn(ctx, tx, record)
}

// AuditIn writes the records in a transaction.
func AuditIn(ctx context.Context, tx db.Tx, records ...AuditRecord) error {
	batch := tx.NewBatch()
	Audit(batch, records...)
	return batch.Send(ctx)
}

// Audit adds the writing of the records to a batch.
func Audit(batch *db.Batch, records ...AuditRecord) {
	audit(batch, "", records)
}

// AuditGranted is Audit for those records whose targets the batch has granted (db.Granted).
func AuditGranted(batch *db.Batch, records ...AuditRecord) {
	audit(batch, ` WHERE r.target_id = ANY (`+db.Granted+`::text[])`, records)
}

func audit(batch *db.Batch, condition string, records []AuditRecord) {
	batch.Queue(`
		INSERT INTO audit_records (id, org_id, actor_id, token_id, action, target_type, target_id, request_id, detail)
		SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[],
			$5::text[], $6::text[], $7::text[], $8::text[], $9::text[])
			AS r (id, org_id, actor_id, token_id, action, target_type, target_id, request_id, detail)`+condition,
		db.Column(records, func(*AuditRecord) *uuid.UUID { return new(NewID()) }),
		db.Column(records, func(r *AuditRecord) *uuid.UUID { return &r.OrgID }),
		db.Column(records, func(r *AuditRecord) *uuid.UUID { return db.NonZero(r.ActorID) }),
		db.Column(records, func(r *AuditRecord) *uuid.UUID { return db.NonZero(r.TokenID) }),
		db.Column(records, func(r *AuditRecord) string { return r.Action }),
		db.Column(records, func(r *AuditRecord) string { return r.TargetType }),
		db.Column(records, func(r *AuditRecord) string { return r.TargetID }),
		db.Column(records, func(r *AuditRecord) string { return r.RequestID }),
		db.Column(records, func(r *AuditRecord) string { return r.Detail }))
}
