// Package mails sends mails to users. A mail commits with its cause, waits encrypted in a table, and is sent by a
// worker.
package mails

import (
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/jobs"
	"github.com/simplevalidations/simplevalidations/core/keyring"
	"github.com/simplevalidations/simplevalidations/core/mail"
)

// Config is what the service needs beside the database. Its zero value sends no mail.
type Config struct {
	// Keys encrypt mails that wait.
	Keys keyring.Ring
	// Mail sends mail; nil if the installation sends none.
	Mail *mail.Sender
	// Staged is woken when a mail was staged.
	Staged *jobs.Signal
}

// Service keeps mails until they are sent.
type Service struct {
	db  *db.DB
	cfg Config
}

// NewService makes the service.
func NewService(database *db.DB, cfg Config) *Service {
	return &Service{db: database, cfg: cfg}
}
