package users

import (
	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/jobs"
	"github.com/simplevalidations/simplevalidations/users/access"
	"github.com/simplevalidations/simplevalidations/users/account"
	"github.com/simplevalidations/simplevalidations/users/factors"
	"github.com/simplevalidations/simplevalidations/users/mails"
	"github.com/simplevalidations/simplevalidations/users/quota"
	"github.com/simplevalidations/simplevalidations/users/signin"
)

// Config is what the services need beside the database. Its zero value sends no mail and keeps no second factors.
type Config = signin.Config

// Service reads and changes what the app owns, and holds the services of the packages below it.
type Service struct {
	Access   *access.Service
	Accounts *account.Service
	Factors  *factors.Service
	Mails    *mails.Service
	SignIn   *signin.Service
	Quota    *quota.Service

	db    *db.DB
	check *core.Validator
	cfg   Config
}

// NewService makes the service.
func NewService(database *db.DB, check *core.Validator, cfg Config) (*Service, error) {
	letters := mails.NewService(database, cfg.Config)
	accounts := account.NewService(database, check, letters, cfg.Address)
	tokens, err := access.NewService(database, check, accounts, cfg.Cell)
	if err != nil {
		return nil, err
	}
	second := factors.NewService(database, cfg.Keys, accounts)
	return &Service{
		Access: tokens, Accounts: accounts, Factors: second, Mails: letters, Quota: quota.NewService(database),
		SignIn: signin.NewService(database, check, accounts, second, letters, cfg),
		db:     database, check: check, cfg: cfg,
	}, nil
}

// Tasks registers the handlers of the app's jobs.
func (s *Service) Tasks(register func(jobs.Kind, jobs.Handler)) {
	s.Mails.Tasks(register, s.SignIn.WriteForgotten)
}

// Address is the service's public URL, without a slash at its end.
func (s *Service) Address() string { return s.cfg.Address }
