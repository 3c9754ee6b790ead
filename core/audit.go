package core

import "github.com/google/uuid"

// AuditRecord says who did what to which thing of an organization. It is written in the transaction of
// the deed, so there is never one without the other.
type AuditRecord struct {
	ID         uuid.UUID
	OrgID      uuid.UUID
	ActorID    uuid.UUID // the zero UUID is the operator or the service itself
	TokenID    uuid.UUID
	Action     string // noun.verb, for example run.start
	TargetType string
	TargetID   string
	RequestID  string
	Detail     string
}

// Audit adds the writing of the records to a batch.
func Audit(batch *Batch, records ...AuditRecord) {
	columns := make([][]string, 5)
	ids, orgs := make([]uuid.UUID, len(records)), make([]uuid.UUID, len(records))
	actors, tokens := make([]*uuid.UUID, len(records)), make([]*uuid.UUID, len(records))
	for i, r := range records {
		ids[i], orgs[i] = r.ID, r.OrgID
		actors[i], tokens[i] = nullable(r.ActorID), nullable(r.TokenID)
		for j, text := range []string{r.Action, r.TargetType, r.TargetID, r.RequestID, r.Detail} {
			columns[j] = append(columns[j], text)
		}
	}
	batch.Queue(`
		INSERT INTO audit_records (id, org_id, actor_id, token_id, action, target_type, target_id, request_id, detail)
		SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[],
			$5::text[], $6::text[], $7::text[], $8::text[], $9::text[])`,
		ids, orgs, actors, tokens, columns[0], columns[1], columns[2], columns[3], columns[4])
}

func nullable(id uuid.UUID) *uuid.UUID {
	if id == uuid.Nil {
		return nil
	}
	return &id
}
