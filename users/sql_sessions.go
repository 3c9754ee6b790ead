package users

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/pages"
)

const (
	// sessionIdle is how long a session lasts after its last use, and sessionLife after it began, as SQL.
	sessionIdle = `interval '12 hours'`
	sessionLife = `interval '7 days'`
)

// beginSession replaces a session, if any, by a new one of the user, and deletes the user's expired ones.
func (s *Service) beginSession(ctx context.Context, userID uuid.UUID, replaced, digest []byte, agent string) error {
	_, err := db.InBatch(ctx, s.db, func(batch *db.Batch) struct{} {
		batch.Queue(`DELETE FROM sessions WHERE digest = $1 OR (user_id = $2 AND expires_at <= now())`,
			replaced, userID)
		batch.Queue(`INSERT INTO sessions (digest, user_id, user_agent, expires_at)
			VALUES ($1, $2, $3, now() + `+sessionIdle+`)`, digest, userID, agent)
		return struct{}{}
	})
	if err != nil {
		return fmt.Errorf("begin a session: %w", err)
	}
	return nil
}

// guest is who has a session: the visitor, and what the visitor may do in each organization.
type guest struct {
	visitor    pages.Visitor
	principals map[string]core.Principal
}

// visit answers who has the session, in one round trip, and prolongs it.
func (s *Service) visit(ctx context.Context, secret string) (guest, error) {
	var found guest
	digest := sessionDigest(secret)
	var reads db.Reads
	reads.Queue(db.OneInto(&found.visitor, scanVisitor), `
		SELECT u.id, u.email, u.name, u.is_operator FROM sessions AS s JOIN users AS u ON u.id = s.user_id
		WHERE s.digest = $1 AND s.expires_at > now()`, digest)
	var holders []holder
	reads.Queue(db.AllInto(&holders, scanHolder), memberQuery, digest)
	reads.Queue(func(rows pgx.Rows) error {
		rows.Close()
		return rows.Err()
	}, prolongStatement, digest)
	err := s.db.Read(ctx, &reads)
	if found.visitor.UserID == uuid.Nil && errors.Is(err, pgx.ErrNoRows) {
		return guest{}, core.NewError(core.CodeNotAuthenticated, "Your session has ended. Sign in again.")
	}
	if err != nil {
		return guest{}, core.Unavailable(fmt.Errorf("look a session up: %w", err))
	}
	found.admit(holders)
	return found, nil
}

// memberQuery has the columns that scanHolder reads, for each organization that the user of a session belongs to. There
// is no token.
const memberQuery = `
	SELECT '00000000-0000-0000-0000-000000000000'::uuid, m.role, m.role AS role, u.id, u.email, u.name,
		o.id, o.slug, o.name, o.overage_billing, o.key_required, coalesce(extract(epoch FROM o.key_lifetime), 0)::float8
	FROM sessions AS s
	JOIN users AS u ON u.id = s.user_id
	JOIN memberships AS m ON m.user_id = u.id
	JOIN organizations AS o ON o.id = m.org_id
	WHERE s.digest = $1 AND s.expires_at > now()
	ORDER BY o.name, o.id`

// prolongStatement writes at most every five minutes, however often pages are loaded.
const prolongStatement = `
	UPDATE sessions SET expires_at = least(created_at + ` + sessionLife + `, now() + ` + sessionIdle + `)
	WHERE digest = $1 AND expires_at > now() AND expires_at < now() + ` + sessionIdle + ` - interval '5 minutes'
		AND expires_at < created_at + ` + sessionLife

// sessionLasts reports whether a session has not ended and its user belongs to the organization.
func (s *Service) sessionLasts(ctx context.Context, secret string, orgID uuid.UUID) (bool, error) {
	var lasts bool
	err := s.db.Pool.QueryRow(ctx, `SELECT EXISTS (
			SELECT FROM sessions AS s JOIN memberships AS m ON m.user_id = s.user_id
			WHERE s.digest = $1 AND s.expires_at > now() AND m.org_id = $2)`, sessionDigest(secret), orgID).Scan(&lasts)
	if err != nil {
		return false, fmt.Errorf("look whether a session lasts: %w", err)
	}
	return lasts, nil
}

func scanVisitor(row pgx.CollectableRow) (pages.Visitor, error) {
	var v pages.Visitor
	err := row.Scan(&v.UserID, &v.Email, &v.Name, &v.Operator)
	return v, err
}
