package account

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/users/mails"
)

// notices are the actions on an account of which its user is told by mail, with what the letter says.
func notices() map[string]string {
	return map[string]string{ //nolint:gosec // no credentials
		"password.change":           "The password was changed",
		"password.reset":            "A new password was set",
		"password.set":              "The operator of the service has set a new password",
		"second_factor.add":         "An authenticator app was set up",
		"second_factor.remove":      "The second factor was removed",
		"second_factor.renew_codes": "New recovery codes were made, and the former ones no longer work",
		"second_factor.recover":     "A recovery code was used",
		"identity.link":             "An account at a provider was linked, with which one can sign in",
		"token.create":              "An API token was made",
	}
}

// RecordChange is AuditUser for an action of which the user is told.
func (s *Service) RecordChange(
	ctx context.Context, tx db.GormTx, actor, userID uuid.UUID, action, detail string,
) error {
	if err := AuditUser(ctx, tx, actor, userID, action, detail); err != nil {
		return err
	}
	return s.Tell(ctx, tx, userID, action, detail)
}

// Tell writes to a user that the account has changed, in the transaction of the change. An address that nobody has
// confirmed may be that of somebody else, who gets no letters. Names in the detail are quoted.
func (s *Service) Tell(ctx context.Context, tx db.GormTx, userID uuid.UUID, action, detail string) error {
	if !s.letters.AreSent() {
		return nil
	}
	user, err := gorm.G[User](tx.Gorm(ctx)).Where("id = ? AND address_confirmed", userID).Take(ctx)
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look whom to tell of a change: %w", err)
	}
	return s.letters.Stage(ctx, tx, mails.KindNotice, user.Email, &mails.Letter{
		Subject: notices()[action],
		Text: fmt.Sprintf(`%s: %s.

This is about the account of %s at %s.

If it was you, do nothing. If it was not, tell an administrator of your organization, set a new password on the page of
your account, and end the other sessions and revoke the tokens that you do not know:

%s
`, notices()[action], detail, user.Email, s.address, s.address+pages.Root+"account/"),
	})
}
