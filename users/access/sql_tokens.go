package access

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/db"
)

// tokenColumns are what a Token is read from, in the order of its members.
const tokenColumns = `t.id, t.user_id, u.email, t.label, t.prefix, t.role, coalesce(m.role, ''), ` + tokenState + `,
	t.replaced_by, t.created_at, t.expires_at, t.revoked_at, t.last_used_at`

//nolint:gosec // no credential
const tokenState = `CASE WHEN t.revoked_at IS NOT NULL THEN 'revoked' WHEN t.expires_at <= now() THEN 'expired'
	ELSE 'active' END`

//nolint:gosec // no credential
const tokenTables = ` FROM api_tokens AS t JOIN users AS u ON u.id = t.user_id
	LEFT JOIN memberships AS m ON m.org_id = t.org_id AND m.user_id = t.user_id WHERE t.org_id = $1 `

// tokens reads one page of the tokens that the principal may see, newest first, and one row more.
func (s *Service) tokens(
	ctx context.Context, principal core.Principal, filter TokenFilter, cursor core.Cursor,
) ([]Token, error) {
	comparison, order, from := cursor.Window()
	found, err := db.All(ctx, s.db.Pool, pgx.RowToStructByPos[Token], `SELECT `+tokenColumns+tokenTables+`
			AND t.id `+comparison+` $2 AND ($3 OR t.user_id = $4)
			AND ($5 = '' OR t.user_id = nullif($5, '')::uuid) AND ($6 = '' OR `+tokenState+` = $6)
		ORDER BY t.id `+order+` LIMIT $7`,
		principal.OrgID, from, seesAllTokens(principal), principal.UserID, filter.User, filter.State, cursor.Size+1)
	if err != nil {
		return nil, fmt.Errorf("list tokens: %w", err)
	}
	return found, nil
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

// FindToken returns no token where there is none with the id that the principal may see.
func (s *Service) FindToken(ctx context.Context, principal core.Principal, id uuid.UUID) ([]Token, error) {
	found, err := db.All(ctx, s.db.Pool, pgx.RowToStructByPos[Token],
		`SELECT `+tokenColumns+tokenTables+` AND t.id = $2 AND ($3 OR t.user_id = $4)`,
		principal.OrgID, id, seesAllTokens(principal), principal.UserID)
	if err != nil {
		return nil, fmt.Errorf("find a token: %w", err)
	}
	return found, nil
}

// insertToken adds the token of a request. The error is errTokenMade where its id is taken.
func insertToken(ctx context.Context, tx db.Tx, request TokenRequest, digest []byte, prefix string) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO api_tokens (org_id, id, user_id, digest, prefix, label, role, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, CASE WHEN $8::float8 > 0 THEN now() + make_interval(secs => $8) END)`,
		request.OrgID, request.ID, request.UserID, digest, prefix, request.Label, request.Role,
		request.ValidFor.Seconds())
	if db.ViolatedConstraint(err) == "api_tokens_pkey" {
		return errTokenMade
	}
	if err != nil {
		return fmt.Errorf("write a token: %w", err)
	}
	return nil
}

// tokenState returns the state of the token with the digest; "" where there never was one.
func (s *Service) tokenState(ctx context.Context, digest []byte) (api.TokenState, error) {
	var state api.TokenState
	err := s.db.Pool.QueryRow(ctx, `SELECT CASE WHEN revoked_at IS NOT NULL THEN 'revoked'
		WHEN expires_at <= now() THEN 'expired' ELSE 'active' END FROM api_tokens WHERE digest = $1`, digest).
		Scan(&state)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return "", fmt.Errorf("look for a token: %w", err)
	}
	return state, nil
}

// lockTokenLimit reads how many active tokens a member may have, and keeps others from issuing tokens to the member.
func lockTokenLimit(ctx context.Context, tx db.Tx, orgID, userID uuid.UUID) (int, error) {
	var limit int
	err := tx.QueryRow(ctx, `
		SELECT o.max_tokens FROM memberships AS m JOIN organizations AS o ON o.id = m.org_id
		WHERE m.org_id = $1 AND m.user_id = $2 FOR NO KEY UPDATE OF m`, orgID, userID).Scan(&limit)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, core.PermissionDenied("The token would be of no use: its user is not a member of " +
			"the organization.").Because(ErrNotMember)
	}
	if err != nil {
		return 0, fmt.Errorf("lock the token limit of a member: %w", err)
	}
	return limit, nil
}

// countTokens counts the active tokens of a member. The duration is the time until the first of them expires, without
// the issued one; nil where none does.
func countTokens(
	ctx context.Context, tx db.Tx, orgID, userID, issued uuid.UUID,
) (int, *time.Duration, error) {
	var active int
	var left *float64
	err := tx.QueryRow(ctx, `
		SELECT count(*), extract(epoch FROM min(expires_at) FILTER (WHERE id <> $3) - now())::float8 FROM api_tokens
		WHERE org_id = $1 AND user_id = $2 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())`,
		orgID, userID, issued).Scan(&active, &left)
	if err != nil {
		return 0, nil, fmt.Errorf("count the tokens of a member: %w", err)
	}
	if left == nil {
		return active, nil, nil
	}
	return active, new(core.Seconds(*left)), nil
}

// countMade counts the tokens that were made for a member within a day.
func countMade(ctx context.Context, tx db.Tx, orgID, userID uuid.UUID) (int, error) {
	var made int
	err := tx.QueryRow(ctx, `SELECT count(*) FROM api_tokens
		WHERE org_id = $1 AND user_id = $2 AND created_at > now() - interval '1 day'`, orgID, userID).Scan(&made)
	if err != nil {
		return 0, fmt.Errorf("count the tokens that a member has made: %w", err)
	}
	return made, nil
}

func updateRevoked(ctx context.Context, tx db.Tx, orgID, id uuid.UUID) error {
	_, err := tx.Exec(ctx, `UPDATE api_tokens SET revoked_at = now() WHERE org_id = $1 AND id = $2`, orgID, id)
	if err != nil {
		return fmt.Errorf("revoke token %s: %w", id, err)
	}
	return nil
}

// updateReplaced ends a token after the overlap, unless it ends before, and names its successor.
func updateReplaced(
	ctx context.Context, tx db.Tx, orgID, id, successor uuid.UUID, overlap time.Duration,
) error {
	_, err := tx.Exec(ctx, `
		UPDATE api_tokens SET replaced_by = $3, expires_at = least(expires_at, now() + make_interval(secs => $4))
		WHERE org_id = $1 AND id = $2`, orgID, id, successor, overlap.Seconds())
	if err != nil {
		return fmt.Errorf("rotate token %s: %w", id, err)
	}
	return nil
}

func (s *Service) updateLastUse(ctx context.Context, used usedTokens) error {
	orgs, tokens := make([]uuid.UUID, 0, len(used)), make([]uuid.UUID, 0, len(used))
	for token, org := range used {
		orgs, tokens = append(orgs, org), append(tokens, token)
	}
	_, err := s.db.Pool.Exec(ctx, `
		UPDATE api_tokens AS t SET last_used_at = now()
		FROM unnest($1::uuid[], $2::uuid[]) AS used (org_id, id) WHERE t.org_id = used.org_id AND t.id = used.id`,
		orgs, tokens)
	if err != nil {
		return fmt.Errorf("write last use: %w", err)
	}
	return nil
}
