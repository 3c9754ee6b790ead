package admin

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/core/pages"
)

// searchQuery is a union because each half has an index of its own; one condition with OR may get neither.
const searchQuery = `
	SELECT id, key, endpoint, created_at FROM idempotency_keys WHERE org_id = $1 AND key = $2
	UNION
	SELECT id, key, endpoint, created_at FROM idempotency_keys WHERE org_id = $1 AND id = $3`

// Search finds keys by their text or their id, for the dashboard's search box. It may find several, because a key can
// be used once for each operation.
func (i *Inspector) Search(ctx context.Context, principal core.Principal, text string) ([]pages.Found, error) {
	// A text that is no id leaves the zero id, which no key has.
	id, _ := core.ParseID(text)
	found, err := db.All(ctx, i.db.Pool, func(row pgx.CollectableRow) (pages.Found, error) {
		var f pages.Found
		var id uuid.UUID
		var endpoint idempotency.Endpoint
		err := row.Scan(&id, &f.Title, &endpoint, &f.At)
		f.Kind = "idempotency key: " + i.operations.Title(endpoint)
		f.Address = pages.Base(principal.OrgSlug) + "keys/" + id.String() + "/"
		return f, err
	}, searchQuery, principal.OrgID, text, id)
	if err != nil {
		return nil, fmt.Errorf("search keys: %w", err)
	}
	return found, nil
}
