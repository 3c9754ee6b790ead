package cmd

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/simplevalidations/simplevalidations/config"
	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/cli"
	"github.com/simplevalidations/simplevalidations/core/keyring"
	"github.com/simplevalidations/simplevalidations/validations/engines"
)

func (p Program) signingSecretCommand() *cobra.Command {
	var org, validator string
	var rotate bool
	command := &cobra.Command{
		Use: "signing-secret --org SLUG", Short: "Print or rotate the signing secrets of external validators",
		Long: "Print the signing secrets of the external validators that the organization's workflows call, one\n" +
			"per line after its origin. With --validator print only the secret of that validator. With --rotate\n" +
			"print nothing, but replace all of them; the old ones remain valid for 24 hours.",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if rotate && validator != "" {
				return &config.UsageError{Reason: "--rotate is for the secrets of all validators, without --validator"}
			}
			return p.withTenant(cmd.Context(), org, func(ctx context.Context, of tenant) error {
				if !rotate {
					return p.showSecrets(ctx, of, validator)
				}
				return report(p.Stdout, of.Signing.Rotate(ctx, of.who),
					"the validators of %s have new secrets; signing-secret prints them\n", of.who.OrgSlug)
			})
		},
	}
	command.Flags().StringVar(&org, "org", "", "the organization's slug")
	command.Flags().StringVar(&validator, "validator", "", "the address of one validator, in use or not")
	command.Flags().BoolVar(&rotate, "rotate", false, "replace the secrets of all validators of the organization")
	requireFlags(command, "org")
	return command
}

func (p Program) showSecrets(ctx context.Context, of tenant, validator string) error {
	if validator == "" {
		origins, err := of.Runs.ValidatorOrigins(ctx, of.who.OrgID)
		if err != nil {
			return err
		}
		secrets, err := of.Signing.Read(ctx, of.who, origins)
		if err != nil {
			return err
		}
		rows := make([][]string, len(secrets))
		for i, secret := range secrets {
			rows[i] = []string{secret.Origin, secret.Secret}
		}
		return cli.WriteTable(p.Stdout, rows...)
	}
	origin, fault := engines.ParseOrigin(validator)
	if fault != "" {
		return &config.UsageError{Reason: "--validator: " + fault}
	}
	secrets, err := of.Signing.Read(ctx, of.who, []string{origin})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(p.Stdout, secrets[0].Secret)
	return err
}

func (p Program) secretsCommand() *cobra.Command {
	group := &cobra.Command{Use: "secrets", Short: "Manage the encryption of secrets in the database"}
	group.AddCommand(&cobra.Command{
		Use: "rotate", Short: "Encrypt all stored secrets under the first key of SV_SECRET_KEY", Args: noArgs,
		Long: "Encrypt all stored secrets under the first key of SV_SECRET_KEY. It works in batches while the\n" +
			"service runs, and resumes where it stopped when it is called again.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.withProject(cmd.Context(), func(ctx context.Context, in opened) error {
				if in.settings.SecretKey == "" {
					return &config.UsageError{Reason: missingSecretKey}
				}
				ring, err := keyring.Parse(string(in.settings.SecretKey))
				if err != nil {
					return err
				}
				total := 0
				for _, table := range config.SealedTables() {
					n, err := table.Reseal(ctx, in.db, ring)
					if err != nil {
						return err
					}
					total += n
				}
				return report(p.Stdout, nil, "%s encrypted under the first key\n", core.Plural(total, "secret"))
			})
		},
	})
	return group
}
