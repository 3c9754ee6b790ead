package audit

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

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
	Noun string `query:"noun" validate:"omitempty,oneof=everything all token member invitation session password user workflow run webhook idempotency_key organization second_factor identity signing_secret"`

	Bounds
}

// Bounds narrow the audit log to a time.
type Bounds struct {
	Since string `query:"since" validate:"omitempty,datetime=2006-01-02T15:04:05Z07:00"`
	Until string `query:"until" validate:"omitempty,datetime=2006-01-02T15:04:05Z07:00"`
}

// idSlack is far more than the time between the creation of a record's id, which begins with a time, and created_at.
const idSlack = time.Minute

// of narrows a query to the times. Their bounds of ids let the index answer them, and the exact times are compared
// record by record. The tags have validated the texts.
func (s Bounds) of(query *gorm.DB) *gorm.DB {
	if at, err := time.Parse(time.RFC3339, s.Since); err == nil {
		query = query.Where("a.created_at >= ? AND a.id >= ?", at, core.FirstIDAt(at.Add(-idSlack)))
	}
	if at, err := time.Parse(time.RFC3339, s.Until); err == nil {
		query = query.Where("a.created_at < ? AND a.id < ?", at, core.FirstIDAt(at.Add(idSlack)))
	}
	return query
}

// audits reads one page of the audit log, newest first, and one row more.
func (s *Service) audits(
	ctx context.Context, orgID uuid.UUID, filter Filter, cursor core.Cursor,
) ([]auditEntry, error) {
	query := s.db.Gorm.WithContext(ctx).Table("audit_records AS a").Select(`
		a.id, a.created_at, a.actor_id, coalesce((SELECT email FROM users WHERE id = a.actor_id), '') AS actor_email,
		a.token_id,
		coalesce((SELECT label FROM api_tokens AS t WHERE t.org_id = a.org_id AND t.id = a.token_id), '')
			AS token_label,
		a.action, a.target_type, a.target_id, a.request_id, a.detail`)
	if filter.Noun == "" || filter.Noun == "everything" {
		query = query.Where("a.org_id = ?", orgID)
	} else {
		// The first condition is that of the index, which leaves out the starts, and the second is what it is over.
		query = query.Where(`a.action <> 'run.start' AND CASE WHEN a.action <> 'run.start' THEN a.org_id END = ?
			AND starts_with(a.action, ?)`, orgID, strings.TrimPrefix(filter.Noun+".", "all."))
	}
	var found []auditEntry
	if err := cursor.Of(filter.of(query), "a.id").Find(&found).Error; err != nil {
		return nil, fmt.Errorf("list audit records: %w", err)
	}
	return found, nil
}
