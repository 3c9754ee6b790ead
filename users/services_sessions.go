package users

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/pages"
)

// maxUserAgent is how many characters of a browser's User-Agent are kept.
const maxUserAgent = 300

// browser is the browser that a request to the dashboard comes from.
type browser struct {
	// Address is that of the client, for the audit records.
	Address   string
	UserAgent string
	// Secret is that of the session so far; "" for none.
	Secret string
}

// signIn begins a session, or the step that waits for a code of the second factor, and returns the secret for the
// cookie. The browser's session so far ends. An unknown address and a wrong password have the same answer, and take the
// same time.
func (s *Service) signIn(ctx context.Context, email, password, next string, from browser) (signedInto, error) {
	user, err := s.User(ctx, email)
	if err != nil && !core.HasCode(err, core.CodeNotFound) {
		return signedInto{}, err
	}
	matches, err := s.passwords.match(ctx, password, user.PasswordHash)
	if err != nil {
		return signedInto{}, err
	}
	if matches && user.DisabledAt != nil {
		if err := s.recordAction(ctx, user.ID, user.ID, "session.refuse", "disabled "+from.origin()); err != nil {
			return signedInto{}, err
		}
		return signedInto{}, accountDisabled()
	}
	if matches {
		return s.passFirst(ctx, user.ID, next, from.origin(), from)
	}
	// An unknown address belongs to no user, so only the access log has the attempt.
	if user.ID != uuid.Nil {
		if err := s.recordAction(ctx, user.ID, user.ID, "session.refuse", "wrong password "+from.origin()); err != nil {
			return signedInto{}, err
		}
	}
	return signedInto{}, core.NewError(core.CodeNotAuthenticated, "The e-mail address or the password is wrong.")
}

func accountDisabled() error {
	return core.NewError(core.CodeNotAuthenticated, "Your account is disabled. Ask the operator of this service.")
}

// origin is the address of the client, for the audit record of an action.
func (b browser) origin() string {
	return "from " + b.Address
}

// SignOut ends the browser's session. Repeating it is not an error.
func (s *Service) SignOut(ctx context.Context, from browser) error {
	return db.Do(ctx, s.db, func(tx db.Tx) error {
		userID, err := deleteSession(ctx, tx, sessionDigest(from.Secret))
		if err != nil || userID == uuid.Nil {
			return err
		}
		return auditUser(ctx, tx, userID, userID, "session.end", "signed out "+from.origin())
	})
}

// SetPassword gives the user a password on the operator's behalf, who thereby confirms that the e-mail address is the
// user's. All sessions end.
func (s *Service) SetPassword(ctx context.Context, userID uuid.UUID, password string) error {
	hash, err := s.passwords.hash(ctx, password)
	if err != nil {
		return err
	}
	return db.Do(ctx, s.db, func(tx db.Tx) error {
		if err := updatePassword(ctx, tx, userID, hash, addressConfirmed); err != nil {
			return err
		}
		return auditUser(ctx, tx, uuid.Nil, userID, "password.set", "all sessions ended")
	})
}

// HasPassword reports whether it is the user's password.
func (s *Service) HasPassword(ctx context.Context, user User, password string) (bool, error) {
	return s.passwords.match(ctx, password, user.PasswordHash)
}

// SetOperator sets whether the user may use the operations page, from the user's next page on.
func (s *Service) SetOperator(ctx context.Context, userID uuid.UUID, isOperator bool) error {
	return db.DoGorm(ctx, s.db, func(tx db.GormTx) error {
		_, err := gorm.G[User](tx.Gorm(ctx)).Where("id = ?", userID).Update(ctx, "is_operator", isOperator)
		if err != nil {
			return fmt.Errorf("set whether user %s is an operator: %w", userID, err)
		}
		detail := "no operator any more"
		if isOperator {
			detail = "operator of the installation"
		}
		return auditUser(ctx, tx.Tx, uuid.Nil, userID, "user.set_operator", detail)
	})
}

// maxSessions bounds the list of sessions.
const maxSessions = 100

// sessions lists the user's sessions, the newest first.
func (s *Service) sessions(ctx context.Context, userID uuid.UUID, current string) ([]Session, error) {
	found, err := gorm.G[Session](s.db.Gorm).Where("user_id = ? AND expires_at > now()", userID).
		Order("created_at DESC").Limit(maxSessions).Find(ctx)
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	for i := range found {
		found[i].Current = bytes.Equal(found[i].Digest, sessionDigest(current))
	}
	return found, nil
}

// endOtherSessions ends all sessions of the user but the browser's.
func (s *Service) endOtherSessions(ctx context.Context, userID uuid.UUID, from browser) error {
	return db.Do(ctx, s.db, func(tx db.Tx) error {
		ended, err := deleteOtherSessions(ctx, tx, userID, sessionDigest(from.Secret))
		if err != nil {
			return err
		}
		detail := core.Plural(int(ended), "other session") + " " + from.origin()
		return auditUser(ctx, tx, userID, userID, "session.end", detail)
	})
}

// changePassword sets a new password for a user who knows the current one, ends all sessions and begins a new one.
func (s *Service) changePassword(
	ctx context.Context, visitor pages.Visitor, form passwordForm, from browser,
) (string, error) {
	user, err := gorm.G[User](s.db.Gorm).Where("id = ?", visitor.UserID).Take(ctx)
	if err != nil {
		return "", fmt.Errorf("look up user %s: %w", visitor.UserID, err)
	}
	matches, err := s.passwords.match(ctx, form.Current, user.PasswordHash)
	if err != nil {
		return "", err
	}
	if !matches {
		if err := s.recordAction(ctx, user.ID, user.ID, "password.refuse", from.origin()); err != nil {
			return "", err
		}
		return "", core.InvalidPayload("Please look at 1 field again.", core.FieldError{
			Parameter: "current", Code: "wrong", Detail: "is not your password",
		})
	}
	hash, err := s.passwords.hash(ctx, form.New)
	if err != nil {
		return "", err
	}
	return db.InTx(ctx, s.db, func(tx db.Tx) (string, error) {
		if err := updatePassword(ctx, tx, user.ID, hash, addressUnproven); err != nil {
			return "", err
		}
		detail := "all sessions ended, " + from.origin()
		if err := auditUser(ctx, tx, user.ID, user.ID, "password.change", detail); err != nil {
			return "", err
		}
		return insertSession(ctx, tx, user.ID, from)
	})
}

// beginSession replaces the browser's session by a new one, and returns its secret. The detail of the audit record ends
// with the browser's address.
func (s *Service) beginSession(ctx context.Context, userID uuid.UUID, detail string, from browser) (string, error) {
	return db.InTx(ctx, s.db, func(tx db.Tx) (string, error) {
		if err := auditUser(ctx, tx, userID, userID, "session.begin", detail); err != nil {
			return "", err
		}
		return insertSession(ctx, tx, userID, from)
	})
}

// recordAction audits an action that has changed nothing else.
func (s *Service) recordAction(ctx context.Context, actor, userID uuid.UUID, action, detail string) error {
	return db.Do(ctx, s.db, func(tx db.Tx) error {
		return auditUser(ctx, tx, actor, userID, action, detail)
	})
}

// PurgeSessions deletes the sessions that have expired.
func (s *Service) PurgeSessions(ctx context.Context) (int64, error) {
	deleted, err := gorm.G[Session](s.db.Gorm).Where("expires_at <= now()").Delete(ctx)
	if err != nil {
		return 0, fmt.Errorf("delete expired sessions: %w", err)
	}
	return int64(deleted), nil
}

func (g *guest) admit(holders []holder) {
	g.principals = make(map[string]core.Principal, len(holders))
	for _, h := range holders {
		g.principals[h.principal.OrgSlug] = h.principal
		if h.principal.OrgID == g.lastOrg {
			g.visitor.Home = h.principal.OrgSlug
		}
		g.visitor.Orgs = append(g.visitor.Orgs, pages.Organization{
			Slug: h.principal.OrgSlug, Name: h.principal.OrgName, Role: h.principal.Role,
		})
	}
	if g.visitor.Home == "" && len(holders) > 0 {
		g.visitor.Home = holders[0].principal.OrgSlug
	}
}

func sessionDigest(secret string) []byte {
	digest := sha256.Sum256([]byte(secret))
	return digest[:]
}
