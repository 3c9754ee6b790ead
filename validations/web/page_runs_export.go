package web

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/formats"
)

const (
	// exportedRuns bounds the rows of a file.
	exportedRuns = 50_000
	// exportPage is how many runs are read and sent at a time.
	exportPage = 500
)

// exportRuns is GET /app/orgs/{org}/export-runs/: the list with its filters as a table, newest runs first. It is sent
// while it is read, so that its length does not matter.
func (a *App) exportRuns(c echo.Context, principal core.Principal) error {
	query, cursor, err := a.runsQuery(c)
	if err != nil {
		return err
	}
	cursor.Size = exportPage
	ctx := c.Request().Context()
	table := csv.NewWriter(c.Response())
	table.UseCRLF = true
	for written := 0; written < exportedRuns; {
		rows, next, err := a.exportedPage(ctx, principal.OrgID, query.RunFilter, cursor)
		if err != nil {
			return err
		}
		if written == 0 && !c.Response().Committed {
			if err := beginExport(c, table); err != nil {
				return err
			}
		}
		if err := writeRuns(table, rows); err != nil {
			return err
		}
		c.Response().Flush()
		written += len(rows)
		if next == uuid.Nil {
			return nil
		}
		cursor.ID = next
		// A visitor who has lost access gets no further row.
		if err := core.ConfirmAccess(ctx); err != nil {
			return err
		}
	}
	return nil
}

// exportedPage reads a page of runs, and returns the one that the next page begins behind; uuid.Nil on the last page.
func (a *App) exportedPage(
	ctx context.Context, orgID uuid.UUID, filter validations.RunFilter, cursor core.Cursor,
) ([]listedRun, uuid.UUID, error) {
	found, err := a.Runs.ListFiltered(ctx, a.Keys, orgID, filter, cursor)
	if err != nil {
		return nil, uuid.Nil, err
	}
	runs := found.Runs[:min(len(found.Runs), exportPage)]
	rows, err := a.listed(ctx, orgID, runs)
	if err != nil {
		return nil, uuid.Nil, err
	}
	if len(found.Runs) > exportPage {
		return rows, runs[exportPage-1].ID, nil
	}
	return rows, found.Stopped, nil
}

// beginExport sends the header of the answer and of the table.
func beginExport(c echo.Context, table *csv.Writer) error {
	header := c.Response().Header()
	header.Set(echo.HeaderContentType, "text/csv; charset=utf-8")
	header.Set(echo.HeaderContentDisposition, `attachment; filename="runs.csv"`)
	header.Set(echo.HeaderCacheControl, "no-store")
	c.Response().WriteHeader(http.StatusOK)
	err := table.Write([]string{
		"id", "created_at", "ended_at", "state", "result", "workflow", "version", "document", "errors", "warnings",
		"notes", "source", "idempotency_key", "replays", "request_id",
	})
	if err != nil {
		return fmt.Errorf("write a table of runs: %w", err)
	}
	return nil
}

func writeRuns(table *csv.Writer, rows []listedRun) error {
	var failed error
	for _, run := range rows {
		failed = errors.Join(failed, table.Write([]string{
			run.ID.String(), core.FormatTime(run.CreatedAt), timeCell(run.EndedAt), string(run.State),
			string(run.Result), formats.Cell(run.WorkflowSlug), strconv.Itoa(run.WorkflowVersion),
			formats.Cell(run.Filename), countCell(run.ErrorCount), countCell(run.WarningCount),
			countCell(run.InfoCount), string(run.Source), formats.Cell(run.IdempotencyKey), countCell(run.Replays),
			formats.Cell(run.RequestID),
		}))
	}
	table.Flush()
	if err := errors.Join(failed, table.Error()); err != nil {
		return fmt.Errorf("write a table of runs: %w", err)
	}
	return nil
}

func timeCell(at *time.Time) string {
	if at == nil {
		return ""
	}
	return core.FormatTime(*at)
}

func countCell(n int64) string { return strconv.FormatInt(n, 10) }
