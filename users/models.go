package users

import (
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
)

// Organization is a tenant.
type Organization struct {
	ID   uuid.UUID `gorm:"primaryKey"`
	Slug string    `validate:"required,max=63"`
	Name string    `validate:"required,max=200"`
	// RunQuota is how many runs a month the organization may start; nil is unlimited.
	RunQuota  *int64 `validate:"omitempty,min=0"`
	CreatedAt time.Time
}

// User is a person or a machine account.
type User struct {
	ID           uuid.UUID `gorm:"primaryKey"`
	Email        string    `validate:"required,email,max=254"`
	Name         string    `validate:"max=200"`
	PasswordHash string
	CreatedAt    time.Time
}

// Membership is a user's role in an organization.
type Membership struct {
	OrgID     uuid.UUID `gorm:"primaryKey"`
	UserID    uuid.UUID `gorm:"primaryKey"`
	Role      core.Role
	CreatedAt time.Time
}

// Token is an API token. Its secret is kept nowhere; Digest is the SHA-256 of it.
type Token struct {
	OrgID      uuid.UUID `gorm:"primaryKey"`
	ID         uuid.UUID `gorm:"primaryKey"`
	UserID     uuid.UUID
	Digest     []byte
	Prefix     string
	Label      string
	Role       core.Role
	CreatedAt  time.Time
	ExpiresAt  *time.Time
	RevokedAt  *time.Time
	LastUsedAt *time.Time
}

// TableName names the table.
func (Token) TableName() string {
	return "api_tokens"
}
