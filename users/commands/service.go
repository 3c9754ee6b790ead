// Package commands has the commands with which operators manage organizations, users and tokens on the database.
package commands

import (
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/users"
)

// Service does what the commands are for. Lists and exports of the whole installation are its own.
type Service struct {
	Users *users.Service

	db *db.DB
}

// NewService makes the service.
func NewService(database *db.DB, service *users.Service) *Service {
	return &Service{Users: service, db: database}
}
