package cmd

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/simplevalidations/simplevalidations/config"
	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
)

// usageCommand counts runs, so it is not one of those of users.
func (p Program) usageCommand() *cobra.Command {
	var from, to, format string
	var byWorkflow bool
	command := &cobra.Command{
		Use: "usage", Short: "Write the usage of all organizations, month by month", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			newWriter, known := usageFormats()[format]
			if !known {
				return core.InvalidParameter("the format", fmt.Sprintf("is csv or json, not %q", format))
			}
			first, err := parseMonth(from)
			if err != nil {
				return err
			}
			last, err := parseMonth(to)
			if err != nil {
				return err
			}
			export := usageExport{exportUsage, append(usageColumns(), "used", "quota")}
			if byWorkflow {
				export = usageExport{exportUsageByWorkflow, append(usageColumns(), "workflow", "workflow_id", "used")}
			}
			return p.withBackend(cmd.Context(), func(ctx context.Context, _ config.Settings, b *backend) error {
				to := newWriter(p.Stdout, export.columns)
				return errors.Join(export.read(ctx, b.db, months{from: first, to: last}, to.write), to.flush())
			})
		},
	}
	command.Flags().StringVar(&from, "from", "", "the first month, like 2026-01 (default: all)")
	command.Flags().StringVar(&to, "to", "", "the last month (default: this one)")
	command.Flags().StringVar(&format, "format", "csv", "csv, or json for JSON Lines")
	command.Flags().BoolVar(&byWorkflow, "by-workflow", false,
		"count the runs of each workflow; this reads all runs, so it takes longer")
	return command
}

// usageExport reads rows of usage, and names their columns as CSV.
type usageExport struct {
	read    func(context.Context, *db.DB, months, func(*usageRow) error) error
	columns []string
}

// usageColumns are the columns that all rows begin with.
func usageColumns() []string { return []string{"month", "organization", "organization_id", "metric"} }

// parseMonth returns nil for no month.
func parseMonth(text string) (*time.Time, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // no month is no bound
	}
	month, err := time.Parse("2006-01", text)
	if err != nil {
		return nil, core.InvalidParameter("a month", fmt.Sprintf("is like 2026-01, not %q", text))
	}
	return &month, nil
}

// usageWriter writes rows of usage in a format.
type usageWriter struct {
	write func(*usageRow) error
	flush func() error
}

func usageFormats() map[string]func(w io.Writer, columns []string) usageWriter {
	return map[string]func(io.Writer, []string) usageWriter{"csv": usageAsCSV, "json": usageAsJSON}
}

func usageAsCSV(w io.Writer, columns []string) usageWriter {
	table := csv.NewWriter(w)
	header := table.Write(columns)
	return usageWriter{
		write: func(row *usageRow) error {
			line := []string{row.Month, row.Organization, row.ID.String(), row.Metric}
			used := strconv.FormatInt(row.Used, 10)
			switch {
			case row.WorkflowID != nil && row.Workflow != nil:
				line = append(line, *row.Workflow, row.WorkflowID.String(), used)
			case row.Quota != nil:
				line = append(line, used, strconv.FormatInt(*row.Quota, 10))
			default:
				line = append(line, used, "")
			}
			return table.Write(line)
		},
		flush: func() error {
			table.Flush()
			return errors.Join(header, table.Error())
		},
	}
}

func usageAsJSON(w io.Writer, _ []string) usageWriter {
	buffered := bufio.NewWriter(w)
	encoder := json.NewEncoder(buffered)
	return usageWriter{write: func(row *usageRow) error { return encoder.Encode(row) }, flush: buffered.Flush}
}
