package users

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/simplevalidations/simplevalidations/core/db"
)

// Tenant is an organization as operators see it.
type Tenant struct {
	ID   uuid.UUID
	Slug string
	Name string
	// Suspended is the time from which the organization may only read; nil if it is not suspended.
	Suspended *time.Time
	CreatedAt time.Time
	// Members and Tokens count the members and their active tokens, and Used the runs of this month.
	Members, Tokens, Used int64
	// Quota is how many runs a month the organization may start; nil is unlimited.
	Quota *int64
}

// Suspend lets the members of an organization read and do nothing else, from their next request on in every process.
// Runs that were accepted before are executed. Repeating it is not an error, and keeps the time of the first
// suspension.
func (s *Service) Suspend(ctx context.Context, orgID uuid.UUID, reason string) error {
	return s.setColumns(ctx, orgID, "organization.suspend", reason,
		map[string]any{"suspended_at": gorm.Expr("coalesce(suspended_at, now())")})
}

// errImporting means that a part of the organization is still missing.
var errImporting = errors.New("the import of the organization has not ended: repeat org import with the same archive")

// Resume ends a suspension.
func (s *Service) Resume(ctx context.Context, orgID uuid.UUID, reason string) error {
	err := s.setColumns(ctx, orgID, "organization.resume", reason, map[string]any{"suspended_at": nil})
	if db.ViolatedConstraint(err) == "ck_organizations_import" {
		return errImporting
	}
	return err
}
