package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/simplevalidations/simplevalidations/config"
	"github.com/simplevalidations/simplevalidations/config/archive"
)

// usualWithin is as long as a client of ours with its usual retries tries to start a run.
const usualWithin = 90 * time.Second

func (p Program) moveOrgCommand() *cobra.Command {
	var to string
	var within time.Duration
	var dryRun bool
	command := &cobra.Command{
		Use:   "move SLUG --to FILE",
		Short: "Move an organization to another cell while it is in use",
		Long: "Move an organization from the cell of the settings to the one whose settings are in a file, one\n" +
			"NAME=value a line, with SV_CELL. Documents are copied first. Then nothing can be started until the\n" +
			"rest was copied, or --within is over and the organization goes on where it was. Requests that come\n" +
			"meanwhile are answered 503 and can be sent again. If the command is interrupted, run it again.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.withTenant(cmd.Context(), args[0], func(ctx context.Context, of tenant) error {
				return p.withCell(ctx, to, func(other *backend, cell string) error {
					move := archive.Move{
						From: of.place(), To: other.place(), OrgID: of.who.OrgID, Slug: args[0], Cell: cell,
						Rest: of.settings.MoveRest, Within: within,
						Report: func(step, text string) {
							_, _ = fmt.Fprintf(p.Stdout, "%s: %s: %s\n", args[0], step, text) // The move goes on.
						},
					}
					if dryRun {
						_, err := move.Announce(ctx)
						return err
					}
					return move.Run(ctx)
				})
			})
		},
	}
	command.Flags().StringVar(&to, "to", "", "the file with the settings of the other cell")
	command.Flags().DurationVar(&within, "within", usualWithin, "how long nothing can be started, at most")
	command.Flags().BoolVar(&dryRun, "dry-run", false, "print what would be copied and how long it takes")
	requireFlags(command, "to")
	return command
}

// withCell opens the database of another cell by the file with its settings.
func (p Program) withCell(ctx context.Context, file string, do func(*backend, string) error) error {
	environ, err := readEnvironment(file)
	if err != nil {
		return err
	}
	settings, _, err := config.LoadSettings(environ)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if settings.Cell == "" || settings.DatabaseURL == "" {
		return &config.UsageError{Reason: file + " must set SV_CELL and DATABASE_URL"}
	}
	b, err := openCurrent(ctx, settings, newLog(settings, p.Stderr))
	if err != nil {
		return config.WithHint(err)
	}
	return errors.Join(do(b, settings.Cell), b.close(ctx))
}

// readEnvironment reads the variables of a file as systemd and a shell do: one a line, its value quoted or not.
func readEnvironment(file string) ([]string, error) {
	text, err := os.ReadFile(file) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, fmt.Errorf("read the settings of the other cell: %w", err)
	}
	var environ []string
	for line := range strings.Lines(string(text)) {
		name, value, isSet := strings.Cut(strings.TrimSpace(line), "=")
		if isSet && !strings.HasPrefix(name, "#") {
			environ = append(environ, name+"="+strings.Trim(value, `"'`))
		}
	}
	return environ, nil
}
