package signin

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/users/account"
)

// guest is the visitor of a session, and what the visitor may do in each organization.
type guest struct {
	visitor    pages.Visitor
	principals map[string]core.Principal
	// lastOrg is the organization whose pages the visitor has seen last.
	lastOrg uuid.UUID
}

// visit returns the visitor of a session and prolongs the session, in one round trip.
func (s *Service) visit(ctx context.Context, secret string) (guest, error) {
	var found guest
	digest := account.Digest(secret)
	var reads db.Reads
	reads.Queue(db.OneInto(&found, scanGuest), `
		SELECT u.id, u.email, u.name, u.is_operator, coalesce(u.last_org_id, '00000000-0000-0000-0000-000000000000')
		FROM sessions AS s JOIN users AS u ON u.id = s.user_id
		WHERE s.digest = $1 AND s.expires_at > now() AND u.disabled_at IS NULL`, digest)
	var members []core.Principal
	reads.Queue(db.AllInto(&members, scanMember), memberQuery, digest)
	reads.Queue(func(rows pgx.Rows) error {
		rows.Close()
		return rows.Err()
	}, prolongStatement, digest)
	err := s.db.Read(ctx, &reads)
	if found.visitor.UserID == uuid.Nil && errors.Is(err, pgx.ErrNoRows) {
		return guest{}, errSessionEnded()
	}
	if err != nil {
		return guest{}, core.Unavailable(fmt.Errorf("look a session up: %w", err))
	}
	found.admit(members)
	return found, nil
}

// memberQuery has the columns that scanMember reads, for each organization that the user of a session belongs to.
const memberQuery = `
	SELECT u.id, u.email, u.name, m.role, o.id, o.slug, o.name, o.overage_billing, o.key_required,
		coalesce(extract(epoch FROM o.key_lifetime), 0)::float8, o.suspended_at IS NOT NULL
	FROM sessions AS s
	JOIN users AS u ON u.id = s.user_id
	JOIN memberships AS m ON m.user_id = u.id
	JOIN organizations AS o ON o.id = m.org_id
	WHERE s.digest = $1 AND s.expires_at > now() AND u.disabled_at IS NULL
	ORDER BY m.created_at, o.id`

// prolongStatement writes at most every five minutes, however often pages are loaded.
const prolongStatement = `
	UPDATE sessions SET expires_at = least(created_at + ` + sessionLife + `, now() + ` + sessionIdle + `)
	WHERE digest = $1 AND expires_at > now() AND expires_at < now() + ` + sessionIdle + ` - interval '5 minutes'
		AND expires_at < created_at + ` + sessionLife

// confirmSession answers an error unless a session has not ended and its user has the role in the organization that the
// principal has. Without an organization the session alone counts. Asking does not prolong the session.
func (s *Service) confirmSession(ctx context.Context, secret string, principal core.Principal) error {
	var role *core.Role
	err := s.db.Pool.QueryRow(ctx, `
		SELECT m.role FROM sessions AS s JOIN users AS u ON u.id = s.user_id AND u.disabled_at IS NULL
		LEFT JOIN memberships AS m ON m.user_id = s.user_id AND m.org_id = $2
		WHERE s.digest = $1 AND s.expires_at > now()`, account.Digest(secret), principal.OrgID).Scan(&role)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return errSessionEnded()
	case err != nil:
		return core.Unavailable(fmt.Errorf("confirm a session: %w", err))
	case principal.OrgID == uuid.Nil:
		return nil
	case role == nil:
		return core.NewError(core.CodePermissionDenied, "You are no longer a member of "+principal.OrgName+".")
	case *role != principal.Role:
		return core.AccessChanged()
	default:
		return nil
	}
}

func errSessionEnded() error {
	return core.NewError(core.CodeNotAuthenticated, "Your session has ended. Sign in again.")
}

func scanMember(row pgx.CollectableRow) (core.Principal, error) {
	var p core.Principal
	var lifetime float64
	err := row.Scan(&p.UserID, &p.Email, &p.Name, &p.Role, &p.OrgID, &p.OrgSlug, &p.OrgName, &p.Overage, &p.KeyRequired,
		&lifetime, &p.Suspended)
	p.KeyLifetime = core.Seconds(lifetime)
	return p, err
}

func scanGuest(row pgx.CollectableRow) (guest, error) {
	var g guest
	v := &g.visitor
	err := row.Scan(&v.UserID, &v.Email, &v.Name, &v.Operator, &g.lastOrg)
	return g, err
}

// noteOrg stores which organization's pages the user has seen last. It writes when the user goes from one organization
// to another, and not with every page.
func (s *Service) noteOrg(ctx context.Context, userID, orgID uuid.UUID) error {
	_, err := s.db.Pool.Exec(ctx, `UPDATE users SET last_org_id = $2 WHERE id = $1`, userID, orgID)
	if err != nil {
		return fmt.Errorf("note the organization that was looked at: %w", err)
	}
	return nil
}
