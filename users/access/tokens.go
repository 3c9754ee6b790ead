package access

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/users/mails"
)

// randomBytes is how many random bytes a secret has.
const randomBytes = 32

// ErrNotMember means that a token would be of no use: its owner has no role in the organization.
var ErrNotMember = errors.New("the user is not a member of the organization")

// TokenRequest asks for a new API token.
type TokenRequest struct {
	// ID is chosen by a form, so that sending it twice makes one token; the zero UUID gets a new one.
	ID     uuid.UUID
	OrgID  uuid.UUID
	UserID uuid.UUID
	Label  string `validate:"required,max=100,excludesrune=\x00"`
	// Role caps what the token may do; the membership's role caps it further.
	Role api.Role `validate:"oneof=owner admin author executor viewer"`
	// ValidFor is the token's life; zero is for ever.
	ValidFor time.Duration `validate:"min=0,max=876000h"`
	// Random makes the secret; empty means new random bytes.
	Random []byte `validate:"omitempty,len=32"`
}

// issuedToken is a new token with its secret, which is not shown again.
type issuedToken struct {
	Token
	secret string
}

// errTokenMade is the cause of the refusal of a request whose token is there already.
var errTokenMade = errors.New("the token was made before")

// CreateToken makes a token on the operator's behalf and returns its secret, which is not stored.
func (s *Service) CreateToken(ctx context.Context, request TokenRequest) (string, error) {
	if err := s.check.Body(request); err != nil {
		return "", err
	}
	issued, err := s.makeToken(ctx, core.Principal{OrgID: request.OrgID}, request)
	if err != nil {
		return "", fmt.Errorf("create a token: %w", err)
	}
	return issued.secret, nil
}

// EnsureToken returns the secret of the first token of a series that works. It skips tokens that were revoked or have
// expired, and creates the first one that does not exist yet. random returns the random bytes of the series' secrets.
func (s *Service) EnsureToken(
	ctx context.Context, request TokenRequest, random func(generation int) []byte,
) (string, error) {
	for generation := 0; ; generation++ {
		request.Random = random(generation)
		secret, digest, _ := s.secretOf(request.Random)
		switch state, err := s.tokenState(ctx, digest); {
		case err != nil:
			return "", err
		case state == api.TokenStateActive:
			return secret, nil
		case state == "":
			return s.CreateToken(ctx, request)
		}
	}
}

// maxTold is of how many new tokens a day a user is told by mail.
const maxTold = 10

// TokenFilter narrows a list of tokens; empty members do not narrow.
type TokenFilter struct {
	User  string `query:"user"  validate:"omitempty,uuid"`
	State string `query:"state" validate:"omitempty,oneof=active expired revoked"`
}

// seesAllTokens reports whether the principal may see the tokens of other members.
func seesAllTokens(principal core.Principal) bool {
	return principal.Role.Allows(api.RoleAdmin)
}

// createToken makes a token of the principal's own, with no more than the principal's role.
func (s *Service) createToken(
	ctx context.Context, principal core.Principal, request TokenRequest,
) (issuedToken, error) {
	request.OrgID, request.UserID = principal.OrgID, principal.UserID
	if err := principal.Require(request.Role, "create such a token"); err != nil {
		return issuedToken{}, err
	}
	return s.makeToken(ctx, principal, request)
}

// makeToken issues a token and tells its user, unless a program makes one token after the other.
func (s *Service) makeToken(
	ctx context.Context, principal core.Principal, request TokenRequest,
) (issuedToken, error) {
	return db.InGormTx(ctx, s.db, func(tx db.GormTx) (issuedToken, error) {
		issued, err := withinTokenLimit(ctx, tx.Tx, request.OrgID, request.UserID, func() (issuedToken, error) {
			return s.issueToken(ctx, tx.Tx, principal, request)
		})
		if err != nil {
			return issuedToken{}, err
		}
		made, err := countMade(ctx, tx.Tx, request.OrgID, request.UserID)
		if err != nil || made > maxTold {
			return issued, err
		}
		by := "by the operator of the service"
		if principal.UserID != uuid.Nil {
			by = "for " + mails.Quoted(principal.OrgName)
		}
		return issued, s.accounts.Tell(ctx, tx, request.UserID, "token.create", mails.Quoted(issued.Label)+" "+by)
	})
}

// revokeToken ends a token for good. One that is revoked already stays as it is.
func (s *Service) revokeToken(ctx context.Context, principal core.Principal, id uuid.UUID) error {
	return db.Do(ctx, s.db, func(tx db.Tx) error {
		token, err := lockToken(ctx, tx, principal, id)
		if err != nil || token.State == api.TokenStateRevoked {
			return err
		}
		if err := updateRevoked(ctx, tx, principal.OrgID, id); err != nil {
			return err
		}
		return auditToken(ctx, tx, principal, "token.revoke", token.ID, token.Label)
	})
}

// RevokeToken ends a token for good on the operator's behalf.
func (s *Service) RevokeToken(ctx context.Context, orgID, id uuid.UUID) error {
	return s.revokeToken(ctx, core.Principal{OrgID: orgID, Role: api.RoleOwner}, id)
}

// rotateToken replaces an active token of the principal, which still works for the overlap. The new token has the
// label, the role and the lifetime of the old one.
func (s *Service) rotateToken(
	ctx context.Context, principal core.Principal, id uuid.UUID, overlap time.Duration,
) (issuedToken, error) {
	return db.InTx(ctx, s.db, func(tx db.Tx) (issuedToken, error) {
		return withinTokenLimit(ctx, tx, principal.OrgID, principal.UserID, func() (issuedToken, error) {
			return s.rotateIn(ctx, tx, principal, id, overlap)
		})
	})
}

func (s *Service) rotateIn(
	ctx context.Context, tx db.Tx, principal core.Principal, id uuid.UUID, overlap time.Duration,
) (issuedToken, error) {
	old, err := lockToken(ctx, tx, principal, id)
	if err != nil {
		return issuedToken{}, err
	}
	if err := old.mayBeRotated(principal); err != nil {
		return issuedToken{}, err
	}
	issued, err := s.issueToken(ctx, tx, principal, TokenRequest{
		OrgID: principal.OrgID, UserID: old.UserID, Label: old.Label, Role: old.Role, ValidFor: old.lifetime(),
	})
	if err != nil {
		return issuedToken{}, err
	}
	if err := updateReplaced(ctx, tx, principal.OrgID, id, issued.ID, overlap); err != nil {
		return issuedToken{}, err
	}
	return issued, auditToken(ctx, tx, principal, "token.rotate", id, "replaced by "+issued.ID.String())
}

// Token is an API token as it is listed. Its secret is not stored.
type Token struct {
	ID     uuid.UUID
	UserID uuid.UUID
	Email  string
	Label  string
	Prefix string
	// Role is the token's own role; MemberRole, that of its user, limits it further, and is "" if the user is no longer
	// a member.
	Role       api.Role
	MemberRole api.Role
	State      api.TokenState
	// ReplacedBy is the new token of a rotation; nil if the token was not rotated.
	ReplacedBy *uuid.UUID
	CreatedAt  time.Time
	ExpiresAt  *time.Time
	RevokedAt  *time.Time
	LastUsedAt *time.Time
}

// mayBeRotated refuses what would give the principal more than it has: a secret that acts in another's name, or one
// that may do more.
func (t Token) mayBeRotated(principal core.Principal) error {
	switch {
	case t.UserID != principal.UserID:
		return core.PermissionDenied(
			"Only " + t.Email + " may rotate this token: the new one acts in their name. You may revoke it.")
	case !principal.Role.Allows(t.Role.Lesser(t.MemberRole)):
		return core.PermissionDenied(
			"The token has a higher role than the one of this request. Rotate it with a token of at least its role.")
	case t.State != api.TokenStateActive:
		return core.NewError(api.CodeTokenNotRotatable, "The token is "+string(t.State)+". Create a new one.")
	case t.ReplacedBy != nil:
		return core.NewError(api.CodeTokenNotRotatable,
			"The token was rotated before, to "+t.ReplacedBy.String()+". Rotate that one, or create a new one.")
	default:
		return nil
	}
}

// lifetime is how long the token was made for; zero is for ever.
func (t Token) lifetime() time.Duration {
	if t.ExpiresAt == nil {
		return 0
	}
	return t.ExpiresAt.Sub(t.CreatedAt)
}

// issueToken writes a new token and who has made it.
func (s *Service) issueToken(
	ctx context.Context, tx db.Tx, principal core.Principal, request TokenRequest,
) (issuedToken, error) {
	if request.ID == uuid.Nil {
		request.ID = core.NewID()
	}
	if len(request.Random) == 0 {
		request.Random = make([]byte, randomBytes)
		// Read never fails (since Go 1.24 it ends the process instead).
		_, _ = rand.Read(request.Random)
	}
	secret, digest, prefix := s.secretOf(request.Random)
	err := insertToken(ctx, tx, request, digest, prefix)
	if errors.Is(err, errTokenMade) {
		return issuedToken{}, core.InvalidPayload(
			"This form has made its token already, and a secret is shown once. If you have not seen it, revoke that " +
				"token. Send the form again from here to make another token.").Because(err)
	}
	if err != nil {
		return issuedToken{}, err
	}
	if err := auditToken(ctx, tx, principal, "token.create", request.ID, request.Label); err != nil {
		return issuedToken{}, err
	}
	token, err := readToken(ctx, tx, ` AND t.id = $2`, request.OrgID, request.ID)
	return issuedToken{Token: token, secret: secret}, err
}

func auditToken(
	ctx context.Context, tx db.Tx, principal core.Principal, action string, id uuid.UUID, detail string,
) error {
	return core.AuditBy(ctx, tx, principal, core.AuditRecord{
		Action: action, TargetType: "token", TargetID: id.String(), Detail: detail,
	})
}
