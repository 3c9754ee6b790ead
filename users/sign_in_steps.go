package users

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
)

// The purposes of steps.
const (
	// purposeCode waits for a code of a user whose password was right, or who comes from the provider.
	purposeCode = "code"
	// purposeSignIn and purposeProve wait for a browser that was sent to the provider.
	purposeSignIn = "sign_in"
	purposeProve  = "prove"
)

// maxNext is how many characters of an address are kept.
const maxNext = 2000

// step is an unfinished sign-in of a browser.
type step struct {
	Purpose string
	// UserID is the zero UUID until the user is known.
	UserID uuid.UUID
	Next   string
}

// signedInto is the result of a part of a sign-in. One of the secrets is set: for the cookie of the session, or for
// that of the step that waits for a code.
type signedInto struct {
	session, step string
}

// passFirst continues a sign-in whose user is known: with a session, or with the code of the second factor.
func (s *Service) passFirst(ctx context.Context, userID uuid.UUID, next, how string, from browser) (signedInto, error) {
	factor, err := s.factor(ctx, userID)
	if err != nil {
		return signedInto{}, err
	}
	if factor == nil || !factor.confirmed {
		secret, err := s.beginSession(ctx, userID, how, from)
		return signedInto{session: secret}, err
	}
	secret, err := s.beginStep(ctx, step{Purpose: purposeCode, UserID: userID, Next: next})
	return signedInto{step: secret}, err
}

// passCode ends a sign-in with the code of the second factor, and returns the secret of the session and where to go.
func (s *Service) passCode(ctx context.Context, secret, code string, from browser) (string, string, error) {
	waiting, err := s.step(ctx, secret, purposeCode)
	if err != nil {
		return "", "", err
	}
	if err := s.useCode(ctx, waiting.UserID, code, from); err != nil {
		return "", "", err
	}
	session, err := db.InTx(ctx, s.db, func(tx db.Tx) (string, error) {
		// Two concurrent requests with two valid codes make one session.
		if _, err := deleteStep(ctx, tx, secret, purposeCode); err != nil {
			return "", err
		}
		err := auditUser(ctx, tx, waiting.UserID, waiting.UserID, "session.begin", from.how("with a code"))
		if err != nil {
			return "", err
		}
		return insertSession(ctx, tx, waiting.UserID, from)
	})
	return session, waiting.Next, err
}

// beginStep returns the secret of the cookie.
func (s *Service) beginStep(ctx context.Context, waiting step) (string, error) {
	secret, digest, _ := newSecret()
	waiting.Next = core.StorableUpTo(waiting.Next, maxNext)
	if err := s.insertStep(ctx, digest, waiting); err != nil {
		return "", err
	}
	return secret, nil
}

// errNoStep is the cause if no sign-in of the browser waits.
var errNoStep = errors.New("no sign-in waits for this browser")

func noSuchStep() error {
	return core.NewError(core.CodeNotAuthenticated, "The sign-in was begun too long ago, or in another browser. "+
		"Begin again.").Because(errNoStep)
}

func (b browser) how(way string) string { return fmt.Sprintf("%s %s", way, b.origin()) }
