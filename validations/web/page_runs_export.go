package web

import (
	"context"
	"strconv"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/formats"
)

// exportRuns is GET /app/orgs/{org}/export-runs/: the list with its filters as a table, newest runs first.
func (a *App) exportRuns(c echo.Context, principal core.Principal) error {
	query, cursor, err := a.runsQuery(c)
	if err != nil {
		return err
	}
	columns := []string{
		"id", "created_at", "ended_at", "state", "result", "workflow", "version", "document", "errors", "warnings",
		"notes", "source", "idempotency_key", "replays", "request_id",
	}
	idOf := func(run validations.Run) uuid.UUID { return run.ID }
	return pages.Export(c, "runs.csv", columns, cursor, idOf,
		func(ctx context.Context, cursor core.Cursor) (core.Scanned[validations.Run], error) {
			return a.Runs.ListFiltered(ctx, a.Keys, principal.OrgID, query.RunFilter, cursor)
		},
		func(ctx context.Context, runs []validations.Run) ([][]string, error) {
			listed, err := a.listed(ctx, principal.OrgID, runs)
			rows := make([][]string, len(listed))
			for i, run := range listed {
				rows[i] = exportedRow(run)
			}
			return rows, err
		})
}

func exportedRow(run listedRun) []string {
	return []string{
		run.ID.String(), api.At(run.CreatedAt).String(), api.MaybeAt(run.EndedAt).String(), string(run.State),
		string(run.Result), formats.Cell(run.WorkflowSlug), strconv.Itoa(run.WorkflowVersion),
		formats.Cell(run.Filename), countCell(run.ErrorCount), countCell(run.WarningCount),
		countCell(run.InfoCount), string(run.Source), formats.Cell(run.IdempotencyKey), countCell(run.Replays),
		formats.Cell(run.RequestID),
	}
}

func countCell(n int64) string { return strconv.FormatInt(n, 10) }
