package cmd

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/simplevalidations/simplevalidations/config"
	"github.com/simplevalidations/simplevalidations/migrations"
)

func (p Program) migrateCommand() *cobra.Command {
	group := &cobra.Command{Use: "migrate", Short: "Migrate the database schema"}
	var dryRun bool
	up := &cobra.Command{
		Use: "up", Short: "Apply pending migrations",
		Long: "Apply pending migrations, while processes of this release and of the previous one may be running. If\n" +
			"several commands run at once, one migrates and the others wait. The command may be interrupted and\n" +
			"run again.",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			do := p.migrateUp
			if dryRun {
				do = p.planMigrations
			}
			return p.withOpen(cmd.Context(), openBackend, do)
		},
	}
	up.Flags().BoolVar(&dryRun, "dry-run", false, "list the migrations, with the SQL of the pending ones; apply none")
	group.AddCommand(up)
	return group
}

func (p Program) migrateUp(ctx context.Context, settings config.Settings, b *backend) error {
	applied, err := b.migrate(ctx, settings)
	for _, name := range applied {
		if _, err := fmt.Fprintln(p.Stdout, "applied", name); err != nil {
			return fmt.Errorf("print what was applied: %w", err)
		}
	}
	return report(p.Stdout, err, "the schema is up to date\n")
}

// planMigrations prints what an operator may want to read before it is executed. The output is SQL as a whole.
func (p Program) planMigrations(ctx context.Context, _ config.Settings, b *backend) error {
	states, err := migrations.Status(ctx, b.db.SQL)
	for _, state := range states {
		text := "-- applied " + state.Name
		if !state.Applied {
			text = "-- pending " + state.Name + "\n" + state.SQL
		}
		if _, err := fmt.Fprintln(p.Stdout, text); err != nil {
			return fmt.Errorf("print the plan: %w", err)
		}
	}
	return err
}
