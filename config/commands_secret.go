package config

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/validations/execution"
)

func (p Program) signingSecretCommand() *cobra.Command {
	group := &cobra.Command{Use: "signing-secret", Short: "Look after the secrets of external validators"}
	group.AddCommand(
		p.secretCommand("show", "Print an organization's signing secret", (*execution.Executor).SigningSecret),
		p.secretCommand("rotate", "Replace an organization's signing secret; the old one stays good for 24 hours",
			(*execution.Executor).RotateSigningSecret))
	return group
}

// secretCommand prints the secret that remains, and nothing else, so that the output can be kept as it is.
func (p Program) secretCommand(
	name, short string, do func(*execution.Executor, context.Context, uuid.UUID) (execution.SigningSecret, error),
) *cobra.Command {
	var org string
	command := &cobra.Command{
		Use: name + " --org SLUG", Short: short, Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.withTenant(cmd.Context(), org, func(
				ctx context.Context, project *Project, who core.Principal,
			) error {
				secret, err := do(project.executor, ctx, who.OrgID)
				if err != nil {
					return err
				}
				_, err = fmt.Fprintln(p.Stdout, secret.Secret)
				return err
			})
		},
	}
	command.Flags().StringVar(&org, "org", "", "the organization's slug")
	requireFlags(command, "org")
	return command
}
