// Package account holds what signing in and being a member stand on: users, their passwords, and the audit records of
// their actions.
package account

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/users/mails"
)

// Service finds and makes users, checks their passwords, and tells them what has changed.
type Service struct {
	db      *db.DB
	check   *core.Validator
	letters *mails.Service
	address string
	*Passwords
}

// NewService makes the service. The address is its public URL, without a slash at its end, for letters.
func NewService(database *db.DB, check *core.Validator, letters *mails.Service, address string) *Service {
	return &Service{db: database, check: check, letters: letters, address: address, Passwords: NewPasswords()}
}

// User is a person or a machine account.
type User struct {
	ID           uuid.UUID `gorm:"primaryKey"`
	Email        string    `validate:"required,email,max=254"`
	Name         string    `validate:"max=200"`
	PasswordHash string
	// IsOperator allows the user to see and use the operations page.
	IsOperator bool
	// DisabledAt is the time from which the user may neither sign in nor use tokens; nil if the user is enabled.
	DisabledAt *time.Time
	// AddressConfirmed says that the user has proven to own the address, or that the operator has made the account.
	AddressConfirmed bool
	CreatedAt        time.Time `gorm:"->"`
}

// ErrTaken means that the name is in use.
var ErrTaken = errors.New("is taken")

// CreateUser adds a user. An empty password means that the user cannot sign in with one.
func (s *Service) CreateUser(ctx context.Context, email, name, password string) (User, error) {
	user, err := s.NewUser(ctx, email, name, password)
	if err != nil {
		return User{}, err
	}
	return db.InGormTx(ctx, s.db, func(tx db.GormTx) (User, error) {
		if err := InsertUser(ctx, tx, user); err != nil {
			return User{}, err
		}
		return user, AuditUser(ctx, tx, uuid.Nil, user.ID, "user.create", user.Email)
	})
}

// NewUser checks the user and hashes the password, which takes too long for a transaction.
func (s *Service) NewUser(ctx context.Context, email, name, password string) (User, error) {
	user := User{ID: core.NewID(), Email: NormalizeEmail(email), Name: name, AddressConfirmed: true}
	if err := s.check.Body(user); err != nil {
		return User{}, err
	}
	if password != "" {
		var err error
		if user.PasswordHash, err = s.Hash(ctx, password); err != nil {
			return User{}, err
		}
	}
	return user, nil
}

// InsertUser adds a user, or fails with ErrTaken.
func InsertUser(ctx context.Context, tx db.GormTx, user User) error {
	err := gorm.G[User](tx.Gorm(ctx)).Create(ctx, &user)
	if db.ViolatedConstraint(err) == "uq_users_email" {
		return fmt.Errorf("user %q %w", user.Email, ErrTaken)
	}
	if err != nil {
		return fmt.Errorf("create user %q: %w", user.Email, err)
	}
	return nil
}

// User finds a user by the e-mail address.
func (s *Service) User(ctx context.Context, email string) (User, error) {
	user, err := gorm.G[User](s.db.Gorm).Where("email = ?", NormalizeEmail(email)).Take(ctx)
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return User{}, core.NewError(api.CodeNotFound, fmt.Sprintf("There is no user %q.", NormalizeEmail(email)))
	}
	if err != nil {
		return User{}, fmt.Errorf("find user %q: %w", email, err)
	}
	return user, nil
}

// EnsureUser returns the user with the e-mail address and creates one without a password when there is none.
func (s *Service) EnsureUser(ctx context.Context, email, name string) (User, error) {
	user, err := s.User(ctx, email)
	if !errors.Is(err, api.CodeNotFound) {
		return user, err
	}
	user, err = s.CreateUser(ctx, email, name, "")
	if errors.Is(err, ErrTaken) {
		return s.User(ctx, email)
	}
	return user, err
}

// NormalizeEmail is the form in which addresses are stored and compared.
func NormalizeEmail(email string) string {
	return strings.ToLower(strings.TrimSpace(email))
}
