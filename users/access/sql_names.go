package access

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/requestlog"
)

// TokenDigest returns the digest of the Bearer token in the headers, if there is one.
func TokenDigest(header http.Header) (requestlog.Digest, bool) {
	secret, err := bearer(header.Values(echo.HeaderAuthorization))
	return sha256.Sum256([]byte(secret)), err == nil
}

// TokenOwners finds the tokens with these digests, also those that are revoked or have expired.
func (s *Service) TokenOwners(
	ctx context.Context, digests [][]byte,
) (map[requestlog.Digest]requestlog.TokenOwner, error) {
	found := make(map[requestlog.Digest]requestlog.TokenOwner)
	var digest []byte
	var owner requestlog.TokenOwner
	err := db.Each(ctx, s.db.Pool, []any{&digest, &owner.OrgID, &owner.TokenID}, func() error {
		found[requestlog.Digest(digest)] = owner
		return nil
	}, `
		SELECT t.digest, t.org_id, t.id FROM unnest($1::bytea[]) AS asked (digest) CROSS JOIN LATERAL (
			SELECT digest, org_id, id FROM api_tokens WHERE digest = asked.digest LIMIT 1) AS t`, digests)
	if err != nil {
		return nil, fmt.Errorf("find the owners of tokens: %w", err)
	}
	return found, nil
}

// TokenLabels returns what the organization calls its tokens.
func (s *Service) TokenLabels(ctx context.Context, orgID uuid.UUID, ids []uuid.UUID) (map[uuid.UUID]string, error) {
	labels, err := db.Map[uuid.UUID, string](ctx, s.db.Pool, `
		SELECT t.id, t.label FROM unnest($2::uuid[]) AS asked (id) CROSS JOIN LATERAL (
			SELECT id, label FROM api_tokens WHERE org_id = $1 AND id = asked.id LIMIT 1) AS t`, orgID, ids)
	if err != nil {
		return nil, fmt.Errorf("read the labels of tokens: %w", err)
	}
	return labels, nil
}
