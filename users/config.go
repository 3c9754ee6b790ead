package users

import (
	"github.com/simplevalidations/simplevalidations/core/jobs"
	"github.com/simplevalidations/simplevalidations/core/keyring"
	"github.com/simplevalidations/simplevalidations/core/mail"
)

// Config is what the service needs beside the database. Its zero value sends no mail and keeps no second factors.
type Config struct {
	// Keys encrypt the secrets of second factors, and mails that wait.
	Keys keyring.Ring
	// Mail sends mail; nil if the installation sends none.
	Mail *mail.Sender
	// Staged is woken when a mail was staged.
	Staged *jobs.Signal
	// Address is the service's public URL, without a slash at its end, for the links in mails.
	Address string
	// OpenID is the provider that people may sign in with; nil for none.
	OpenID *OpenID
}
