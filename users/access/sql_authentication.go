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
	"github.com/simplevalidations/simplevalidations/users/account"
)

// orgParam is the organization of a caller who is known.
func orgParam(id uuid.UUID) db.Param {
	return db.Param{Name: "org", Type: "uuid", Value: id}
}

// orgOfToken is the organization of a token that may be invalid.
func orgOfToken(digest tokenDigest) db.Param {
	return db.Param{
		Name: "org", Type: "bytea", Value: digest[:],
		Query: "SELECT org_id FROM api_tokens WHERE digest = given.org",
	}
}

// org is the organization of a cached holder.
func (h tokenHolder) org() core.CallerOrg {
	id := h.principal.OrgID
	return core.CallerOrg{Param: orgParam(id), ID: id, Tag: h.tag}
}

// lookUpTag asks whether the cached holder is still valid. Every change of a role, a membership, a token or the
// organization renews the tag in its transaction, so an unchanged tag proves that nothing has changed.
func (h tokenHolder) lookUpTag(loader *db.Loader) *db.Future[*bool] {
	return db.Lookup(loader, func(row pgx.CollectableRow) (bool, error) {
		var current struct {
			tag uuid.UUID
			now time.Time
		}
		err := row.Scan(&current.tag, &current.now)
		return current.tag == h.tag && (h.expiresAt == nil || h.expiresAt.After(current.now)), err
	}, "SELECT access_tag, now() FROM organizations WHERE id = asked.org", orgParam(h.principal.OrgID))
}

// lookUpHolder looks up the holder of the token.
func lookUpHolder(loader *db.Loader, digest tokenDigest) *db.Future[*tokenHolder] {
	return db.Lookup(loader, func(row pgx.CollectableRow) (tokenHolder, error) {
		var found tokenHolder
		var err error
		found.holder, err = scanHolderAnd(row, &found.tag, &found.expiresAt)
		return found, err
	}, holderQuery, db.Param{Name: "digest", Type: "bytea", Value: digest[:]})
}

const holderQuery = `
	SELECT t.id, t.role, m.role, u.id, u.email, u.name, o.id, o.slug, o.name, o.overage_billing, o.key_required,
		coalesce(extract(epoch FROM o.key_lifetime), 0)::float8,
		o.suspended_at IS NOT NULL, ` + account.IsMoving + `, ` + account.LacksFactor + `, o.access_tag, t.expires_at
	FROM api_tokens AS t
	JOIN organizations AS o ON o.id = t.org_id
	JOIN users AS u ON u.id = t.user_id
	LEFT JOIN memberships AS m ON m.org_id = t.org_id AND m.user_id = t.user_id
	WHERE t.digest = asked.digest AND t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > now())
		AND u.disabled_at IS NULL`

// movedTo returns the cell that has the organization of a token; empty where it did not move from here.
func (s *Service) movedTo(ctx context.Context, digest tokenDigest) (string, error) {
	var cell string
	err := s.db.Pool.QueryRow(ctx, `SELECT cell FROM moved_tokens WHERE digest = $1`, digest[:]).Scan(&cell)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return "", core.Unavailable(fmt.Errorf("look a moved token up: %w", err))
	}
	return cell, nil
}

// scanHolderAnd reads a holder and the further columns of the row.
func scanHolderAnd(row pgx.CollectableRow, more ...any) (holder, error) {
	var p core.Principal
	var tokenRole api.Role
	var memberRole *api.Role
	var lifetime float64
	var lacksFactor bool
	err := row.Scan(append([]any{
		&p.TokenID, &tokenRole, &memberRole, &p.UserID, &p.Email, &p.Name,
		&p.OrgID, &p.OrgSlug, &p.OrgName, &p.Overage, &p.KeyRequired, &lifetime, &p.Suspended, &p.Moving,
		&lacksFactor,
	}, more...)...)
	if err != nil || memberRole == nil {
		return holder{principal: p}, err
	}
	p.Role = tokenRole.Lesser(*memberRole)
	p.Narrowed = p.Role != *memberRole
	p.KeyLifetime = core.Seconds(lifetime)
	return holder{principal: p, isMember: true, lacksFactor: lacksFactor}, nil
}
