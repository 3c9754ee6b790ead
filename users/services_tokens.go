package users

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
)

// TokenRequest asks for a new API token.
type TokenRequest struct {
	// ID is the token's own where the request may come twice and is to make one token; the zero UUID gets a new one.
	ID     uuid.UUID
	OrgID  uuid.UUID
	UserID uuid.UUID
	Label  string `validate:"required,max=100,excludesrune=\x00"`
	// Role caps what the token may do; the membership's role caps it further.
	Role core.Role `validate:"oneof=owner admin author executor viewer"`
	// ValidFor is the token's life; zero is for ever.
	ValidFor time.Duration `validate:"min=0,max=876000h"`
}

// issuedToken is a new token with its secret, which is shown this once.
type issuedToken struct {
	Token
	secret string
}

// errTokenMade is the cause of the refusal of a request whose token is there already.
var errTokenMade = errors.New("the token was made before")

// tokenColumns are what a Token is read from, in the order of its members.
const tokenColumns = `t.id, t.user_id, u.email, t.label, t.prefix, t.role, coalesce(m.role, ''), ` + tokenState + `,
	t.replaced_by, t.created_at, t.expires_at, t.revoked_at, t.last_used_at`

//nolint:gosec // no credential
const tokenState = `CASE WHEN t.revoked_at IS NOT NULL THEN 'revoked' WHEN t.expires_at <= now() THEN 'expired'
	ELSE 'active' END`

//nolint:gosec // no credential
const tokenTables = ` FROM api_tokens AS t JOIN users AS u ON u.id = t.user_id
	LEFT JOIN memberships AS m ON m.org_id = t.org_id AND m.user_id = t.user_id WHERE t.org_id = $1 `

// CreateToken makes a token on the operator's behalf and returns its secret, which is shown this once.
func (s *Service) CreateToken(ctx context.Context, request TokenRequest) (string, error) {
	if err := s.check.Body(request); err != nil {
		return "", err
	}
	issued, err := db.InTx(ctx, s.db, func(tx db.Tx) (issuedToken, error) {
		if err := requireMember(ctx, tx, request.OrgID, request.UserID); err != nil {
			return issuedToken{}, err
		}
		return issueToken(ctx, tx, core.Principal{OrgID: request.OrgID}, request)
	})
	if err != nil {
		return "", fmt.Errorf("create a token: %w", err)
	}
	return issued.secret, nil
}

// TokenFilter narrows a list of tokens; empty members do not narrow.
type TokenFilter struct {
	User  string `query:"user"  validate:"omitempty,uuid"`
	State string `query:"state" validate:"omitempty,oneof=active expired revoked"`
}

// tokens reads one page of the tokens that the principal may see, newest first, and one row more.
func (s *Service) tokens(
	ctx context.Context, principal core.Principal, filter TokenFilter, cursor core.Cursor,
) ([]Token, error) {
	comparison, order, from := cursor.Window()
	rows, err := s.db.Pool.Query(ctx, `SELECT `+tokenColumns+tokenTables+`
			AND t.id `+comparison+` $2 AND ($3 OR t.user_id = $4)
			AND ($5 = '' OR t.user_id = nullif($5, '')::uuid) AND ($6 = '' OR `+tokenState+` = $6)
		ORDER BY t.id `+order+` LIMIT $7`,
		principal.OrgID, from, seesAllTokens(principal), principal.UserID, filter.User, filter.State, cursor.Size+1)
	if err != nil {
		return nil, fmt.Errorf("list tokens: %w", err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Token])
	if err != nil {
		return nil, fmt.Errorf("list tokens: %w", err)
	}
	return found, nil
}

// seesAllTokens reports whether the tokens of others are the principal's business.
func seesAllTokens(principal core.Principal) bool {
	return principal.Role.Allows(core.RoleAdmin)
}

// createToken makes a token of the principal's own, with no more than the principal's role.
func (s *Service) createToken(
	ctx context.Context, principal core.Principal, request TokenRequest,
) (issuedToken, error) {
	request.OrgID, request.UserID = principal.OrgID, principal.UserID
	if err := principal.Require(request.Role, "create such a token"); err != nil {
		return issuedToken{}, err
	}
	return db.InTx(ctx, s.db, func(tx db.Tx) (issuedToken, error) {
		return issueToken(ctx, tx, principal, request)
	})
}

// revokeToken ends a token for good. One that is revoked already stays as it is.
func (s *Service) revokeToken(ctx context.Context, principal core.Principal, id uuid.UUID) error {
	_, err := db.InTx(ctx, s.db, func(tx db.Tx) (struct{}, error) {
		token, err := lockToken(ctx, tx, principal, id)
		if err != nil || token.State == TokenRevoked {
			return struct{}{}, err
		}
		_, err = tx.Exec(ctx, `UPDATE api_tokens SET revoked_at = now() WHERE org_id = $1 AND id = $2`,
			principal.OrgID, id)
		if err != nil {
			return struct{}{}, fmt.Errorf("revoke token %s: %w", id, err)
		}
		return struct{}{}, auditToken(ctx, tx, principal, "token.revoke", token.ID, token.Label)
	})
	return err
}

// rotateToken makes a token that takes the place of an active one of the principal's own, which works on for the
// overlap. The new one has the label, the role and the lifetime of the old one.
func (s *Service) rotateToken(
	ctx context.Context, principal core.Principal, id uuid.UUID, overlap time.Duration,
) (issuedToken, error) {
	return db.InTx(ctx, s.db, func(tx db.Tx) (issuedToken, error) {
		old, err := lockToken(ctx, tx, principal, id)
		if err != nil {
			return issuedToken{}, err
		}
		if err := old.mayBeRotated(principal); err != nil {
			return issuedToken{}, err
		}
		issued, err := issueToken(ctx, tx, principal, TokenRequest{
			OrgID: principal.OrgID, UserID: old.UserID, Label: old.Label, Role: old.Role, ValidFor: old.lifetime(),
		})
		if err != nil {
			return issuedToken{}, err
		}
		_, err = tx.Exec(ctx, `
			UPDATE api_tokens SET replaced_by = $3, expires_at = least(expires_at, now() + make_interval(secs => $4))
			WHERE org_id = $1 AND id = $2`, principal.OrgID, id, issued.ID, overlap.Seconds())
		if err != nil {
			return issuedToken{}, fmt.Errorf("rotate token %s: %w", id, err)
		}
		return issued, auditToken(ctx, tx, principal, "token.rotate", id, "replaced by "+issued.ID.String())
	})
}

// mayBeRotated refuses what would give the principal more than it has: a secret that acts in another's name, or one
// that may do more.
func (t Token) mayBeRotated(principal core.Principal) error {
	switch {
	case t.UserID != principal.UserID:
		return core.NewError(core.CodePermissionDenied,
			"The new token would act in the name of "+t.Email+", who alone may rotate this one. You may revoke it.")
	case !principal.Role.Allows(t.Role.Lesser(t.MemberRole)):
		return core.NewError(core.CodePermissionDenied,
			"The token may do more than the one of this request. Rotate it with itself or with another like it.")
	case t.State != TokenActive:
		return core.NewError(core.CodeTokenNotRotatable, "The token is "+string(t.State)+". Create a new one.")
	case t.ReplacedBy != nil:
		return core.NewError(core.CodeTokenNotRotatable,
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

// lockToken reads a token that the principal may see and keeps others from changing it.
func lockToken(ctx context.Context, tx db.Tx, principal core.Principal, id uuid.UUID) (Token, error) {
	token, err := readToken(ctx, tx, ` AND t.id = $2 AND ($3 OR t.user_id = $4) FOR UPDATE OF t`,
		principal.OrgID, id, seesAllTokens(principal), principal.UserID)
	if errors.Is(err, pgx.ErrNoRows) {
		return Token{}, core.NotFound("token")
	}
	return token, err
}

func readToken(ctx context.Context, tx db.Tx, condition string, args ...any) (Token, error) {
	rows, err := tx.Query(ctx, `SELECT `+tokenColumns+tokenTables+condition, args...)
	if err != nil {
		return Token{}, fmt.Errorf("read a token: %w", err)
	}
	token, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[Token])
	if err != nil {
		return Token{}, fmt.Errorf("read a token: %w", err)
	}
	return token, nil
}

// issueToken writes a new token and who has made it.
func issueToken(
	ctx context.Context, tx db.Tx, principal core.Principal, request TokenRequest,
) (issuedToken, error) {
	id := request.ID
	if id == uuid.Nil {
		var err error
		if id, err = core.NewID(); err != nil {
			return issuedToken{}, err
		}
	}
	secret, digest, prefix := newSecret()
	_, err := tx.Exec(ctx, `
		INSERT INTO api_tokens (org_id, id, user_id, digest, prefix, label, role, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, CASE WHEN $8::float8 > 0 THEN now() + make_interval(secs => $8) END)`,
		request.OrgID, id, request.UserID, digest, prefix, request.Label, request.Role, request.ValidFor.Seconds())
	if db.ViolatedConstraint(err) == "api_tokens_pkey" {
		return issuedToken{}, core.InvalidPayload(
			"This form has made its token already, and a secret is shown once. If you have not seen it, revoke that " +
				"token. Sent once more from here, the form makes another.").Because(errTokenMade)
	}
	if err != nil {
		return issuedToken{}, fmt.Errorf("write a token: %w", err)
	}
	if err := auditToken(ctx, tx, principal, "token.create", id, request.Label); err != nil {
		return issuedToken{}, err
	}
	token, err := readToken(ctx, tx, ` AND t.id = $2`, request.OrgID, id)
	return issuedToken{Token: token, secret: secret}, err
}

func auditToken(
	ctx context.Context, tx db.Tx, principal core.Principal, action string, id uuid.UUID, detail string,
) error {
	return audit(ctx, tx, principal, core.AuditRecord{
		Action: action, TargetType: "token", TargetID: id.String(), Detail: detail,
	})
}

func requireMember(ctx context.Context, tx db.Tx, orgID, userID uuid.UUID) error {
	var member bool
	err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM memberships WHERE org_id = $1 AND user_id = $2)`,
		orgID, userID).Scan(&member)
	if err != nil {
		return fmt.Errorf("look for the membership: %w", err)
	}
	if !member {
		return errNotMember
	}
	return nil
}
