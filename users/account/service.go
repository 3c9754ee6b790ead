// Package account holds what signing in and being a member stand on: users, their passwords, and the audit records of
// their actions.
package account

import (
	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
)

// Service finds and makes users.
type Service struct {
	db        *db.DB
	check     *core.Validator
	passwords *Passwords
}

// NewService makes the service.
func NewService(database *db.DB, check *core.Validator, passwords *Passwords) *Service {
	return &Service{db: database, check: check, passwords: passwords}
}
