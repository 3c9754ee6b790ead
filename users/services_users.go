package users

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
)

// CreateUser adds a user. An empty password means that the user cannot sign in with one.
func (s *Service) CreateUser(ctx context.Context, email, name, password string) (User, error) {
	user, err := s.newUser(ctx, email, name, password)
	if err != nil {
		return User{}, err
	}
	return db.InGormTx(ctx, s.db, func(tx db.GormTx) (User, error) {
		if err := insertUser(ctx, tx.Gorm(ctx), user); err != nil {
			return User{}, err
		}
		return user, auditUser(ctx, tx.Tx, uuid.Nil, user.ID, "user.create", user.Email)
	})
}

// MemberRequest asks for a new user who is a member of an organization.
type MemberRequest struct {
	OrgID uuid.UUID
	Role  core.Role
	Email string
	Name  string
	// Password may be empty: the user cannot sign in with one then.
	Password string
}

// CreateMember adds a user together with the membership, or neither.
func (s *Service) CreateMember(ctx context.Context, request MemberRequest) (User, error) {
	if err := checkRole(request.Role); err != nil {
		return User{}, err
	}
	user, err := s.newUser(ctx, request.Email, request.Name, request.Password)
	if err != nil {
		return User{}, err
	}
	return db.InGormTx(ctx, s.db, func(tx db.GormTx) (User, error) {
		if err := insertUser(ctx, tx.Gorm(ctx), user); err != nil {
			return User{}, err
		}
		return user, setMembership(ctx, tx.Tx, request.OrgID, user.ID, request.Role)
	})
}

// newUser checks the user and hashes the password, which takes too long for a transaction.
func (s *Service) newUser(ctx context.Context, email, name, password string) (User, error) {
	id, err := core.NewID()
	if err != nil {
		return User{}, err
	}
	user := User{ID: id, Email: normalizeEmail(email), Name: name, CreatedAt: time.Now()}
	if err := s.check.Body(user); err != nil {
		return User{}, err
	}
	if password != "" {
		if user.PasswordHash, err = s.passwords.hash(ctx, password); err != nil {
			return User{}, err
		}
	}
	return user, nil
}

func insertUser(ctx context.Context, database *gorm.DB, user User) error {
	err := gorm.G[User](database).Create(ctx, &user)
	if db.ViolatedConstraint(err) == "uq_users_email" {
		return fmt.Errorf("user %q %w", user.Email, errTaken)
	}
	if err != nil {
		return fmt.Errorf("create user %q: %w", user.Email, err)
	}
	return nil
}

// User finds a user by the e-mail address.
func (s *Service) User(ctx context.Context, email string) (User, error) {
	user, err := gorm.G[User](s.db.Gorm).Where("email = ?", normalizeEmail(email)).Take(ctx)
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return User{}, core.NewError(core.CodeNotFound, fmt.Sprintf("There is no user %q.", normalizeEmail(email)))
	}
	if err != nil {
		return User{}, fmt.Errorf("find user %q: %w", email, err)
	}
	return user, nil
}

// SetMembership makes the user a member with the role, or changes the member's role, on the operator's behalf.
func (s *Service) SetMembership(ctx context.Context, orgID, userID uuid.UUID, role core.Role) error {
	if err := checkRole(role); err != nil {
		return err
	}
	return db.Do(ctx, s.db, func(tx db.Tx) error {
		return setMembership(ctx, tx, orgID, userID, role)
	})
}

func setMembership(ctx context.Context, tx db.Tx, orgID, userID uuid.UUID, role core.Role) error {
	operator := core.Principal{OrgID: orgID}
	added, err := insertMembership(ctx, tx, orgID, userID, role)
	if err != nil {
		return err
	}
	member, err := lockMember(ctx, tx, orgID, userID)
	if err != nil {
		return err
	}
	switch {
	case added:
		return auditMember(ctx, tx, operator, "member.add", userID, member.Email+" as "+string(role))
	case member.Role == role:
		return nil
	}
	if err := updateMembership(ctx, tx, orgID, userID, role); err != nil {
		return err
	}
	detail := fmt.Sprintf("%s from %s to %s", member.Email, member.Role, role)
	return auditMember(ctx, tx, operator, "member.set_role", userID, detail)
}

func checkRole(role core.Role) error {
	if !role.Allows(core.RoleViewer) {
		return core.InvalidPayload("A role is one of owner, admin, author, executor, viewer.")
	}
	return nil
}

// EnsureUser returns the user with the e-mail address and creates one without a password when there is none.
func (s *Service) EnsureUser(ctx context.Context, email, name string) (User, error) {
	user, err := s.User(ctx, email)
	if !core.HasCode(err, core.CodeNotFound) {
		return user, err
	}
	user, err = s.CreateUser(ctx, email, name, "")
	if errors.Is(err, errTaken) {
		return s.User(ctx, email)
	}
	return user, err
}

func normalizeEmail(email string) string {
	return strings.ToLower(strings.TrimSpace(email))
}
