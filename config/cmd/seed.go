package cmd

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/simplevalidations/simplevalidations/config"
)

func (p Program) seedCommand() *cobra.Command {
	var demo, asJSON, resetPassword bool
	command := &cobra.Command{
		Use: "seed --demo", Short: "Fill the database with demo data", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !demo {
				return &config.UsageError{Reason: "say what to seed: simplevalidations seed --demo"}
			}
			return p.withProject(cmd.Context(), func(ctx context.Context, in opened) error {
				output, err := in.project.SeedDemo(ctx, resetPassword)
				if err != nil {
					return err
				}
				if asJSON {
					return json.NewEncoder(p.Stdout).Encode(output)
				}
				return output.Print(p.Stdout)
			})
		},
	}
	command.Flags().BoolVar(&demo, "demo", false, "two organizations with workflows and tokens")
	command.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	command.Flags().BoolVar(&resetPassword, "reset-password", false,
		"set a new password for the dashboard, in place of one that was changed")
	return command
}
