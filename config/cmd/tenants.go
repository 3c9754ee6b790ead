package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/simplevalidations/simplevalidations/config/archive"
	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/cli"
	"github.com/simplevalidations/simplevalidations/core/db"
)

// deleteOrgCommand needs the tables of all apps, so it is not one of those of users.
func (p Program) deleteOrgCommand() *cobra.Command {
	var dryRun bool
	command := &cobra.Command{
		Use:   "delete SLUG|ID",
		Short: "Delete a suspended organization with everything that belongs to it",
		Long: "Delete a suspended organization with its workflows, runs, documents, findings, keys, tokens, members\n" +
			"and audit records. Users are kept. The command works in batches while the service runs. If it is\n" +
			"interrupted, run it again. Runs that have not ended are deleted, too.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.withProject(cmd.Context(), func(ctx context.Context, in opened) error {
				org, err := in.Users.Organization(ctx, args[0])
				if id, isID := core.ParseID(args[0]); isID && errors.Is(err, api.CodeNotFound) {
					org.ID, org.Slug, err = id, args[0], nil
				}
				if err != nil {
					return err
				}
				if dryRun {
					return p.printTenant(ctx, in.db, org.ID)
				}
				err = archive.Delete(ctx, in.db, org.ID, org.Slug)
				return report(p.Stdout, err, "%s (%s): deleted\n", org.Slug, org.ID)
			})
		},
	}
	command.Flags().BoolVar(&dryRun, "dry-run", false, "print how many rows would be deleted, and change nothing")
	return command
}

func (p Program) printTenant(ctx context.Context, database *db.DB, orgID uuid.UUID) error {
	counts, err := archive.Count(ctx, database, orgID)
	if err != nil {
		return err
	}
	return printCounts(p.Stdout, counts)
}

// printCounts prints how many rows there are in each table.
func printCounts(w io.Writer, counts map[string]int64) error {
	rows := make([][]string, 0, len(counts))
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		rows = append(rows, []string{name, strconv.FormatInt(counts[name], 10)})
	}
	if err := cli.WriteTable(w, rows...); err != nil {
		return fmt.Errorf("print the rows: %w", err)
	}
	return nil
}
