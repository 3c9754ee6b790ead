package commands

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/users"
)

func setTokensCommand(open Open) *cobra.Command {
	return &cobra.Command{
		Use: "set-tokens SLUG NUMBER", Short: "Set how many active tokens each member may have",
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			limit, err := strconv.ParseInt(args[1], 10, 32)
			if err != nil {
				return core.InvalidParameter("the number of tokens", fmt.Sprintf("is from 1 to 10000, not %q", args[1]))
			}
			return open(cmd.Context(), func(ctx context.Context, s *Service) error {
				org, err := s.Users.Organization(ctx, args[0])
				if err != nil {
					return err
				}
				return say(cmd, s.Users.SetTokenLimit(ctx, org.ID, int(limit)), "%s: %s\n", org.Slug,
					users.DescribeTokenLimit(int(limit)))
			})
		},
	}
}

func createOrgCommand(open Open) *cobra.Command {
	var name, quotaText string
	command := &cobra.Command{
		Use: "create SLUG", Short: "Create an organization", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			quota, err := parseQuota(quotaText)
			if err != nil {
				return err
			}
			if name == "" {
				name = args[0]
			}
			return open(cmd.Context(), func(ctx context.Context, s *Service) error {
				org, err := s.Users.CreateOrganization(ctx, args[0], name, quota)
				return say(cmd, err, "%s\n", org.ID)
			})
		},
	}
	command.Flags().StringVar(&name, "name", "", "the organization's name (default: the slug)")
	command.Flags().StringVar(&quotaText, "runs", unlimited, "runs a month, or unlimited")
	return command
}

func setQuotaCommand(open Open) *cobra.Command {
	return &cobra.Command{
		Use: "set-quota SLUG RUNS", Short: "Set the monthly quota of runs (a number or unlimited)",
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			quota, err := parseQuota(args[1])
			if err != nil {
				return err
			}
			return open(cmd.Context(), func(ctx context.Context, s *Service) error {
				org, err := s.Users.Organization(ctx, args[0])
				if err != nil {
					return err
				}
				return say(cmd, s.Users.SetRunQuota(ctx, org.ID, quota), "%s: %s\n", org.Slug,
					users.DescribeQuota(quota))
			})
		},
	}
}

func setOverageCommand(open Open) *cobra.Command {
	return &cobra.Command{
		Use:   "set-overage SLUG on|off",
		Short: "Let an organization start runs beyond its quota, each charged separately",
		Args:  cobra.ExactArgs(2), ValidArgs: []string{"on", "off"},
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[1] != "on" && args[1] != "off" {
				return core.InvalidParameter("overage billing", fmt.Sprintf("is on or off, not %q", args[1]))
			}
			return open(cmd.Context(), func(ctx context.Context, s *Service) error {
				org, err := s.Users.Organization(ctx, args[0])
				if err != nil {
					return err
				}
				allowed := args[1] == "on"
				return say(cmd, s.Users.SetOverage(ctx, org.ID, allowed), "%s: %s\n", org.Slug,
					users.DescribeOverage(allowed))
			})
		},
	}
}

func setKeysCommand(open Open) *cobra.Command {
	var policy users.KeyPolicy
	command := &cobra.Command{
		Use:   "set-keys SLUG",
		Short: "Set whether an organization requires idempotency keys, and their lifetime",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return open(cmd.Context(), func(ctx context.Context, s *Service) error {
				org, err := s.Users.Organization(ctx, args[0])
				if err != nil {
					return err
				}
				return say(cmd, s.Users.SetKeyPolicy(ctx, org.ID, policy), "%s: %s\n", org.Slug,
					users.DescribeKeys(policy))
			})
		},
	}
	command.Flags().BoolVar(&policy.Required, "required", false, "refuse requests without a key")
	command.Flags().DurationVar(&policy.Lifetime, "lifetime", 0, "how long keys are kept, 0 for the default")
	// What is left out must not turn off what was set before.
	requireFlags(command, "required", "lifetime")
	return command
}

func parseQuota(text string) (*int64, error) {
	if text == unlimited {
		return nil, nil //nolint:nilnil // no quota is no limit
	}
	quota, err := strconv.ParseInt(text, 10, 64)
	if err != nil || quota < 0 {
		return nil, core.InvalidParameter("the number of runs",
			fmt.Sprintf("must be 0 or more, or %s; %q is neither", unlimited, text))
	}
	return &quota, nil
}

// byDefault is the period of the settings.
const byDefault = "default"

func setRetentionCommand(open Open) *cobra.Command {
	var content, findings string
	command := &cobra.Command{
		Use:   "set-retention SLUG",
		Short: "Set how long an organization's documents and findings are kept after the end of their runs",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var retention users.Retention
			var err error
			if retention.Content, err = parsePeriod("--content", content); err != nil {
				return err
			}
			if retention.Findings, err = parsePeriod("--findings", findings); err != nil {
				return err
			}
			return open(cmd.Context(), func(ctx context.Context, s *Service) error {
				org, err := s.Users.Organization(ctx, args[0])
				if err != nil {
					return err
				}
				err = s.Users.SetRetention(ctx, org.ID, retention)
				return say(cmd, err, "%s: %s\n", org.Slug, users.DescribeRetention(retention))
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
	if text == users.Forever {
		return new(time.Duration), nil
	}
	period, err := time.ParseDuration(text)
	if err != nil || period <= 0 {
		return nil, core.InvalidParameter(flag,
			fmt.Sprintf("is a time such as 720h, %s or %s, not %q", users.Forever, byDefault, text))
	}
	return &period, nil
}
