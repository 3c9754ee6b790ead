package admin

import (
	"context"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/pages"
)

// exportKeys is GET /app/orgs/{org}/export-keys/: the list with its filters as a table, newest keys first.
func (a *App) exportKeys(c echo.Context, principal core.Principal) error {
	query, cursor, err := a.keysQuery(c)
	if err != nil {
		return err
	}
	columns := []string{
		"id", "key", "operation", "state", "run", "status", "replays", "mismatches", "conflicts", "created_at",
		"finished_at", "expires_at", "request_id",
	}
	return pages.Export(c, "keys.csv", columns, cursor, func(e Entry) uuid.UUID { return e.ID },
		func(ctx context.Context, cursor core.Cursor) (core.Scanned[Entry], error) {
			return a.inspector.List(ctx, principal.OrgID, query.EntryFilter, cursor)
		},
		func(_ context.Context, entries []Entry) ([][]string, error) {
			rows := make([][]string, len(entries))
			for i, entry := range entries {
				rows[i] = exportedRow(entry)
			}
			return rows, nil
		})
}

func exportedRow(e Entry) []string {
	body := renderEntry(e)
	return []string{
		e.ID.String(), cell(e.Key), string(e.Endpoint), string(e.State), string(body.Run),
		strconv.Itoa(body.ResponseStatus), strconv.FormatInt(e.Replays, 10), strconv.FormatInt(e.Mismatches, 10),
		strconv.FormatInt(e.Conflicts, 10), body.CreatedAt.String(), body.FinishedAt.String(),
		body.ExpiresAt.String(), cell(e.RequestID),
	}
}

// cell escapes a text that a spreadsheet would read as a formula. Keys and request ids are printable ASCII.
func cell(text string) string {
	if strings.IndexAny(strings.TrimLeft(text, " "), "=+-@") == 0 {
		return "'" + text
	}
	return text
}
