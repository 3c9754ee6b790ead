package commands

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/users"
)

const (
	// unlimited is the quota without a limit on the command line.
	unlimited = "unlimited"
	// byDefault is the period of the settings.
	byDefault = "default"
)

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

// orgFlags are the flags of org set.
type orgFlags struct {
	runs, content, findings string
	overage                 bool
	keys                    users.KeyPolicy
	tokens                  int32
	factor                  bool
}

func setOrgCommand(open Open) *cobra.Command {
	var to orgFlags
	command := &cobra.Command{
		Use: "set SLUG", Args: cobra.ExactArgs(1),
		Short: "Set the quota, keys, retention, tokens and second factor of an organization",
		RunE: func(cmd *cobra.Command, args []string) error {
			changes, err := to.changes(cmd)
			if err != nil {
				return err
			}
			set := func(ctx context.Context, s *Service, org users.Organization) error {
				return makeChanges(ctx, cmd, s, org.Slug, org.ID, changes)
			}
			return open.onOrg(cmd.Context(), args[0], set)
		},
	}
	flags := command.Flags()
	flags.StringVar(&to.runs, "runs", "", "runs a month, or unlimited")
	flags.BoolVar(&to.overage, "overage", false, "start runs beyond the quota, each charged separately")
	flags.BoolVar(&to.keys.Required, "key-required", false, "refuse requests without an idempotency key")
	flags.DurationVar(&to.keys.Lifetime, "key-lifetime", 0, "how long keys are kept, 0 for the default")
	flags.StringVar(&to.content, "content-retention", "",
		"how long documents are kept after the end of their runs: a time such as 720h, forever, or default")
	flags.StringVar(&to.findings, "findings-retention", "", "the same for findings")
	flags.Int32Var(&to.tokens, "tokens", 0, "how many active tokens each member may have, from 1 to 10000")
	flags.BoolVar(&to.factor, "second-factor-required", false,
		"refuse members without a second factor, and their tokens; =false lets them in again")
	return command
}

// changes are those that the flags ask for. All flags are read before anything is changed.
func (to *orgFlags) changes(cmd *cobra.Command) ([]change, error) {
	var all []change
	if cmd.Flags().Changed("runs") {
		quota, err := parseQuota(to.runs)
		if err != nil {
			return nil, err
		}
		all = append(all, func(ctx context.Context, s *Service, id uuid.UUID) (string, error) {
			return users.DescribeQuota(quota), s.Users.SetRunQuota(ctx, id, quota)
		})
	}
	if cmd.Flags().Changed("overage") {
		all = append(all, func(ctx context.Context, s *Service, id uuid.UUID) (string, error) {
			return users.DescribeOverage(to.overage), s.Users.SetOverage(ctx, id, to.overage)
		})
	}
	if given, err := isTogether(cmd, "key-required", "key-lifetime"); err != nil {
		return nil, err
	} else if given {
		all = append(all, func(ctx context.Context, s *Service, id uuid.UUID) (string, error) {
			return users.DescribeKeys(to.keys), s.Users.SetKeyPolicy(ctx, id, to.keys)
		})
	}
	if given, err := isTogether(cmd, "content-retention", "findings-retention"); err != nil {
		return nil, err
	} else if given {
		retention, err := parseRetention(to.content, to.findings)
		if err != nil {
			return nil, err
		}
		all = append(all, func(ctx context.Context, s *Service, id uuid.UUID) (string, error) {
			return users.DescribeRetention(retention), s.Users.SetRetention(ctx, id, retention)
		})
	}
	if cmd.Flags().Changed("tokens") {
		all = append(all, func(ctx context.Context, s *Service, id uuid.UUID) (string, error) {
			return users.DescribeTokenLimit(int(to.tokens)), s.Users.SetTokenLimit(ctx, id, int(to.tokens))
		})
	}
	if cmd.Flags().Changed("second-factor-required") {
		all = append(all, func(ctx context.Context, s *Service, id uuid.UUID) (string, error) {
			return users.DescribeFactor(to.factor), s.Users.RequireFactor(ctx, id, to.factor)
		})
	}
	return atLeastOne(cmd, all)
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

func parseRetention(content, findings string) (users.Retention, error) {
	var retention users.Retention
	var err error
	if retention.Content, err = parsePeriod("--content-retention", content); err != nil {
		return users.Retention{}, err
	}
	retention.Findings, err = parsePeriod("--findings-retention", findings)
	return retention, err
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
