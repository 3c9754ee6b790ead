package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/simplevalidations/simplevalidations/config"
	"github.com/simplevalidations/simplevalidations/config/archive"
)

func (p Program) exportOrgCommand() *cobra.Command {
	var live, dryRun bool
	command := &cobra.Command{
		Use:   "export SLUG",
		Short: "Write an organization to standard output, to move or copy it",
		Long: "Write a suspended organization with its workflows, runs, documents, findings, keys, tokens, members\n" +
			"and audit records to standard output, as JSON Lines. org import recreates it in another installation.\n" +
			"With --live the organization may be in use; such a copy cannot be imported.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.withTenant(cmd.Context(), args[0], func(ctx context.Context, of tenant) error {
				if dryRun {
					counted, err := archive.Export(ctx, of.place(), of.who.OrgID, io.Discard, live)
					return errors.Join(err, printIf(err == nil, p.Stdout, counted.Rows))
				}
				_, err := archive.Export(ctx, of.place(), of.who.OrgID, p.Stdout, live)
				return err
			})
		},
	}
	command.Flags().BoolVar(&live, "live", false, "write a copy of an organization that is in use")
	command.Flags().BoolVar(&dryRun, "dry-run", false, "print how many rows would be written")
	return command
}

func (p Program) importOrgCommand() *cobra.Command {
	var slug string
	var dryRun, trust bool
	command := &cobra.Command{
		Use:   "import FILE",
		Short: "Import an organization from another installation",
		Long: "Import the organization from an archive, or from standard input if FILE is -. It stays\n" +
			"suspended until you run org set --suspended=false. Users without an account get one without a\n" +
			"password; those who have one are invited, and their tokens arrive revoked. If the import is\n" +
			"interrupted, run it again with the same archive.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			from, err := p.openArchive(args[0])
			if err != nil {
				return err
			}
			defer func() { _ = from.Close() }() // It was only read.
			return p.withBackend(cmd.Context(), func(ctx context.Context, _ config.Settings, b *backend) error {
				if dryRun {
					found, err := archive.Verify(ctx, b.db, from)
					err = errors.Join(err, printIf(err == nil, p.Stdout, found.Rows))
					return p.reportPeople(err, trust, found.Existing)
				}
				made, err := archive.Import(ctx, b.place(), from, slug, trust)
				err = report(p.Stdout, err, "%s (%s): imported, suspended\n", made.Slug, made.Organization)
				return p.reportPeople(err, trust, made.Existing)
			})
		},
	}
	command.Flags().StringVar(&slug, "slug", "", "another name for the organization")
	command.Flags().BoolVar(&dryRun, "dry-run", false, "verify the archive and print its rows, and change nothing")
	command.Flags().BoolVar(&trust, "trust", false, "make users who have an account members, with their tokens")
	return command
}

// reportPeople names the people who have an account here, and what an import makes of them.
func (p Program) reportPeople(err error, trust bool, emails []string) error {
	become := "invited, tokens revoked"
	if trust {
		become = "a member at once, with the tokens"
	}
	for _, email := range emails {
		err = report(p.Stdout, err, "%s has an account: %s\n", email, become)
	}
	return err
}

func (p Program) openArchive(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(p.Stdin), nil
	}
	file, err := os.Open(name) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, fmt.Errorf("open the archive: %w", err)
	}
	return file, nil
}

func printIf(succeeded bool, w io.Writer, rows map[string]int64) error {
	if !succeeded {
		return nil
	}
	return printCounts(w, rows)
}
