package admin

import (
	"encoding/csv"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
)

const (
	// exportedKeys bounds the rows of a file.
	exportedKeys = 50_000
	// exportPage is how many keys are read and sent at a time.
	exportPage = 500
)

// exportKeys is GET /app/orgs/{org}/export-keys/: the list with its filters as a table, newest keys first. It is sent
// while it is read, so that its length does not matter.
func (a *App) exportKeys(c echo.Context, principal core.Principal) error {
	query, cursor, err := a.keysQuery(c)
	if err != nil {
		return err
	}
	cursor.Size = exportPage
	ctx := c.Request().Context()
	table := csv.NewWriter(c.Response())
	table.UseCRLF = true
	for written := 0; written < exportedKeys; {
		entries, err := a.inspector.List(ctx, principal.OrgID, query.EntryFilter, cursor)
		if err != nil {
			return err
		}
		if !c.Response().Committed {
			if err := beginExport(c, table); err != nil {
				return err
			}
		}
		rows := entries.Found[:min(len(entries.Found), exportPage)]
		if err := writeKeys(table, rows); err != nil {
			return err
		}
		c.Response().Flush()
		written += len(rows)
		if cursor.ID = entries.Stopped; len(entries.Found) > exportPage {
			cursor.ID = rows[exportPage-1].ID
		}
		if cursor.ID == uuid.Nil {
			return nil
		}
		// Whoever has lost the access gets no further row.
		if err := core.ConfirmAccess(ctx); err != nil {
			return err
		}
	}
	return nil
}

// beginExport sends the header of the answer and of the table.
func beginExport(c echo.Context, table *csv.Writer) error {
	header := c.Response().Header()
	header.Set(echo.HeaderContentType, "text/csv; charset=utf-8")
	header.Set(echo.HeaderContentDisposition, `attachment; filename="keys.csv"`)
	header.Set(echo.HeaderCacheControl, "no-store")
	c.Response().WriteHeader(http.StatusOK)
	err := table.Write([]string{
		"id", "key", "operation", "state", "run", "status", "replays", "mismatches", "conflicts", "created_at",
		"finished_at", "expires_at", "request_id",
	})
	if err != nil {
		return fmt.Errorf("write a table of keys: %w", err)
	}
	return nil
}

func writeKeys(table *csv.Writer, rows []Entry) error {
	var failed error
	for _, e := range rows {
		body := renderEntry(e)
		failed = errors.Join(failed, table.Write([]string{
			e.ID.String(), cell(e.Key), string(e.Endpoint), string(e.State), string(body.Run),
			strconv.Itoa(body.ResponseStatus), strconv.FormatInt(e.Replays, 10), strconv.FormatInt(e.Mismatches, 10),
			strconv.FormatInt(e.Conflicts, 10), body.CreatedAt, string(body.FinishedAt), body.ExpiresAt,
			cell(e.RequestID),
		}))
	}
	table.Flush()
	if err := errors.Join(failed, table.Error()); err != nil {
		return fmt.Errorf("write a table of keys: %w", err)
	}
	return nil
}

// cell escapes a text that a spreadsheet would read as a formula. Keys and request ids are printable ASCII.
func cell(text string) string {
	if strings.IndexAny(strings.TrimLeft(text, " "), "=+-@") == 0 {
		return "'" + text
	}
	return text
}
