package users

import (
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
)

// Organization is a tenant. How its keys, documents and runs are treated beyond the quota are further columns, which
// Principal carries and the operator's commands set.
type Organization struct {
	ID   uuid.UUID `gorm:"primaryKey"`
	Slug string    `validate:"required,max=63"`
	Name string    `validate:"required,max=200"`
	// RunQuota is how many runs a month the organization may start; nil is unlimited.
	RunQuota  *int64 `validate:"omitempty,min=0"`
	CreatedAt time.Time
}

// Invitation asks the person with an e-mail address to become a member of an organization.
type Invitation struct {
	ID    uuid.UUID
	Email string
	// Name is what the inviting member calls the person, who chooses a name upon acceptance.
	Name      string
	Role      core.Role
	CreatedAt time.Time
	ExpiresAt time.Time
	// Valid is set while the invitation can be accepted: its week is not over, and its maker may still give the role.
	Valid bool

	OrgID   uuid.UUID
	OrgSlug string
	OrgName string
}

// Token is an API token as it is listed. Its secret is not stored.
type Token struct {
	ID     uuid.UUID
	UserID uuid.UUID
	Email  string
	Label  string
	Prefix string
	// Role is the token's own role; MemberRole, that of its user, limits it further, and is "" if the user is no longer
	// a member.
	Role       core.Role
	MemberRole core.Role
	State      TokenState
	// ReplacedBy is the new token of a rotation; nil if the token was not rotated.
	ReplacedBy *uuid.UUID
	CreatedAt  time.Time
	ExpiresAt  *time.Time
	RevokedAt  *time.Time
	LastUsedAt *time.Time
}

// TokenState says whether a token still works.
type TokenState string

// The states of a token. Only an active one works.
const (
	TokenActive  TokenState = "active"
	TokenExpired TokenState = "expired"
	TokenRevoked TokenState = "revoked"
)

// Member is a user as a member of an organization.
type Member struct {
	ID        uuid.UUID
	Email     string
	Name      string
	Role      core.Role
	CreatedAt time.Time
}
