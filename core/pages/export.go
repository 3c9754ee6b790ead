package pages

import (
	"context"
	"encoding/csv"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
)

const (
	// ExportPage is how many rows of an export are read and sent at a time.
	ExportPage = 500
	// exportedRows bounds the rows of an export.
	exportedRows = 50_000
)

// NextRows returns the next rows of an export, up to ExportPage, and whether there are more.
type NextRows func(ctx context.Context) (rows [][]string, more bool, err error)

// Export answers with a list as a CSV file. The file is sent while the list is read, so that its length does not
// matter, and ends after 50,000 rows or when the visitor loses access. An error on the first rows is still answered as
// one.
func Export(c echo.Context, file string, columns []string, next NextRows) error {
	ctx := c.Request().Context()
	table := csv.NewWriter(c.Response())
	table.UseCRLF = true
	for written := 0; written < exportedRows; {
		rows, more, err := next(ctx)
		if err != nil {
			return err
		}
		written += len(rows)
		if !c.Response().Committed {
			beginExport(c, file)
			rows = append([][]string{columns}, rows...)
		}
		if err := table.WriteAll(rows); err != nil {
			return fmt.Errorf("export %s: %w", file, err)
		}
		c.Response().Flush()
		if !more {
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
