package users

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/pages"
)

// Search finds an API token by its id: one of the principal's own, or anybody's for an administrator.
func (s *Service) Search(ctx context.Context, principal core.Principal, text string) ([]pages.Found, error) {
	id, ok := core.ParseID(text)
	if !ok {
		return nil, nil
	}
	rows, err := s.db.Pool.Query(ctx, `SELECT `+tokenColumns+tokenTables+` AND t.id = $2 AND ($3 OR t.user_id = $4)`,
		principal.OrgID, id, seesAllTokens(principal), principal.UserID)
	if err != nil {
		return nil, fmt.Errorf("search tokens: %w", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (pages.Found, error) {
		token, err := pgx.RowToStructByPos[Token](row)
		return pages.Found{
			Kind: "API token", Title: token.Label, At: token.CreatedAt,
			Address: pages.Base(principal.OrgSlug) + "tokens/#" + token.ID.String(),
		}, err
	})
	if err != nil {
		return nil, fmt.Errorf("search tokens: %w", err)
	}
	return found, nil
}
