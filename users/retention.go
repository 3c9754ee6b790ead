package users

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
)

const (
	// forever is a period without an end on the command line.
	forever = "forever"
	// byDefault is the period of the settings.
	byDefault = "default"
)

// Retention is how long an organization's documents and findings are kept after the end of their runs: nil is the
// period of the settings, and 0 is for ever.
type Retention struct {
	Content  *time.Duration
	Findings *time.Duration
}

// SetRetention sets how long documents and findings are kept, also for runs that have ended.
func (s *Service) SetRetention(ctx context.Context, orgID uuid.UUID, retention Retention) error {
	err := s.setColumns(ctx, orgID, "organization.set_retention", describeRetention(retention), map[string]any{
		"content_retention": periodColumn(retention.Content), "findings_retention": periodColumn(retention.Findings),
	})
	if db.ViolatedConstraint(err) == "ck_organizations_retention" {
		return core.InvalidPayload("Documents and findings are kept for an hour at least and a hundred years at most.")
	}
	return err
}

func periodColumn(period *time.Duration) any {
	if period == nil {
		return nil
	}
	return interval(*period)
}

func describeRetention(retention Retention) string {
	return "documents " + describePeriod(retention.Content) + ", findings " + describePeriod(retention.Findings)
}

func describePeriod(period *time.Duration) string {
	switch {
	case period == nil:
		return "by default"
	case *period == 0:
		return forever
	default:
		return period.String()
	}
}

func setRetentionCommand(open Open) *cobra.Command {
	var content, findings string
	command := &cobra.Command{
		Use:   "set-retention SLUG",
		Short: "Set how long an organization's documents and findings are kept after the end of their runs",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var retention Retention
			var err error
			if retention.Content, err = parsePeriod("--content", content); err != nil {
				return err
			}
			if retention.Findings, err = parsePeriod("--findings", findings); err != nil {
				return err
			}
			return open(cmd.Context(), func(ctx context.Context, s *Service) error {
				org, err := s.Organization(ctx, args[0])
				if err != nil {
					return err
				}
				err = s.SetRetention(ctx, org.ID, retention)
				return say(cmd, err, "%s: %s\n", org.Slug, describeRetention(retention))
			})
		},
	}
	command.Flags().StringVar(&content, "content", "", "for example 720h, forever, or default")
	command.Flags().StringVar(&findings, "findings", "", "for example 2160h, forever, or default")
	// What is left out must not be kept for another time than before, and so be deleted.
	requireFlags(command, "content", "findings")
	return command
}

func parsePeriod(flag, text string) (*time.Duration, error) {
	if text == byDefault {
		return nil, nil //nolint:nilnil // no period is that of the settings
	}
	if text == forever {
		return new(time.Duration), nil
	}
	period, err := time.ParseDuration(text)
	if err != nil || period <= 0 {
		return nil, core.InvalidParameter(flag,
			fmt.Sprintf("is a time such as 720h, %s or %s, not %q", forever, byDefault, text))
	}
	return &period, nil
}
