package pages

import (
	"context"
	"encoding/csv"
	"fmt"
	"net/http"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
)

const (
	// ExportPage is how many rows of an export are read and sent at a time.
	ExportPage = 500
	// exportedRows bounds the rows of an export.
	exportedRows = 50_000
)

// Export answers with a list as a CSV file, from the page of the cursor on. The file is sent while the list is read, so
// that its length does not matter, and ends after 50,000 rows or when the visitor loses access. An error on the first
// rows is still answered as one.
func Export[T any](
	c echo.Context, file string, columns []string, cursor core.Cursor, idOf func(T) uuid.UUID,
	list func(ctx context.Context, cursor core.Cursor) (core.Scanned[T], error),
	rows func(ctx context.Context, items []T) ([][]string, error),
) error {
	ctx := c.Request().Context()
	table := csv.NewWriter(c.Response())
	table.UseCRLF = true
	cursor.Size = ExportPage
	for written := 0; written < exportedRows; {
		page, err := list(ctx, cursor)
		if err != nil {
			return err
		}
		items := page.Found[:min(len(page.Found), ExportPage)]
		if cursor.ID = page.Stopped; len(page.Found) > ExportPage {
			cursor.ID = idOf(items[ExportPage-1])
		}
		cells, err := rows(ctx, items)
		if err != nil {
			return err
		}
		written += len(cells)
		if !c.Response().Committed {
			beginExport(c, file)
			cells = append([][]string{columns}, cells...)
		}
		if err := table.WriteAll(cells); err != nil {
			return fmt.Errorf("export %s: %w", file, err)
		}
		c.Response().Flush()
		if cursor.ID == uuid.Nil {
			return nil
		}
		if err := core.ConfirmAccess(ctx); err != nil {
			return err
		}
	}
	return nil
}

func beginExport(c echo.Context, file string) {
	header := c.Response().Header()
	header.Set(echo.HeaderContentType, "text/csv; charset=utf-8")
	header.Set(echo.HeaderContentDisposition, `attachment; filename="`+file+`"`)
	header.Set(echo.HeaderCacheControl, "no-store")
	c.Response().WriteHeader(http.StatusOK)
}
