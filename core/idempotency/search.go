package idempotency

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/pages"
)

// Search finds keys by their text or their id. A key may have been used for several operations.
func (i *Inspector) Search(ctx context.Context, principal core.Principal, text string) ([]pages.Found, error) {
	id, _ := core.ParseID(text)
	rows, err := i.db.Pool.Query(ctx, `
		SELECT id, key, endpoint, created_at FROM idempotency_keys WHERE org_id = $1 AND key = $2
		UNION
		SELECT id, key, endpoint, created_at FROM idempotency_keys WHERE org_id = $1 AND id = $3`,
		principal.OrgID, text, id)
	if err != nil {
		return nil, fmt.Errorf("search keys: %w", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (pages.Found, error) {
		f := pages.Found{Kind: "idempotency key"}
		var endpoint Endpoint
		err := row.Scan(&id, &f.Title, &endpoint, &f.At)
		f.Kind += ": " + i.operations.Title(endpoint)
		f.Address = pages.Base(principal.OrgSlug) + "keys/" + id.String() + "/"
		return f, err
	})
	if err != nil {
		return nil, fmt.Errorf("search keys: %w", err)
	}
	return found, nil
}
