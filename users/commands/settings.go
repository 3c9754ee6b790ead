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
	setting

	runs, content, findings    string
	overage, factor, suspended bool
	keys                       users.KeyPolicy
	tokens                     int32
}

func setOrgCommand(open Open) *cobra.Command {
	var to orgFlags
	to.cmd = &cobra.Command{
		Use: "set SLUG", Args: cobra.ExactArgs(1),
		Short: "Set the quota, keys, retention, tokens, second factor and state of an organization",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := to.read(); err != nil {
				return err
			}
			set := func(ctx context.Context, s *Service, org users.Organization) error {
				return to.set(ctx, s, org.Slug, org.ID)
			}
			return open.onOrg(cmd.Context(), args[0], set)
		},
	}
	flags := to.cmd.Flags()
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
	to.bind("suspended", "let members only read; =false ends that", &to.suspended)
	return to.cmd
}

// read finds the changes that the flags ask for. All flags are read before anything is changed.
func (to *orgFlags) read() error {
	if err := to.inPairs([2]string{"key-required", "key-lifetime"},
		[2]string{"content-retention", "findings-retention"}, [2]string{"suspended", "reason"}); err != nil {
		return err
	}
	if to.given("suspended") {
		state := map[bool]string{true: "suspended", false: "active"}[to.suspended]
		to.add(state, func(ctx context.Context, s *Service, id uuid.UUID) error {
			return s.Users.SetSuspended(ctx, id, to.suspended, to.reason)
		})
	}
	if to.given("runs") {
		quota, err := parseQuota(to.runs)
		if err != nil {
			return err
		}
		to.add(users.DescribeQuota(quota), func(ctx context.Context, s *Service, id uuid.UUID) error {
			return s.Users.SetRunQuota(ctx, id, quota)
		})
	}
	if to.given("overage") {
		to.add(users.DescribeOverage(to.overage), func(ctx context.Context, s *Service, id uuid.UUID) error {
			return s.Users.SetOverage(ctx, id, to.overage)
		})
	}
	if to.given("key-required") {
		to.add(users.DescribeKeys(to.keys), func(ctx context.Context, s *Service, id uuid.UUID) error {
			return s.Users.SetKeyPolicy(ctx, id, to.keys)
		})
	}
	if to.given("content-retention") {
		retention, err := parseRetention(to.content, to.findings)
		if err != nil {
			return err
		}
		to.add(users.DescribeRetention(retention), func(ctx context.Context, s *Service, id uuid.UUID) error {
			return s.Users.SetRetention(ctx, id, retention)
		})
	}
	if to.given("tokens") {
		to.add(users.DescribeTokenLimit(int(to.tokens)), func(ctx context.Context, s *Service, id uuid.UUID) error {
			return s.Users.SetTokenLimit(ctx, id, int(to.tokens))
		})
	}
	if to.given("second-factor-required") {
		to.add(users.DescribeFactor(to.factor), func(ctx context.Context, s *Service, id uuid.UUID) error {
			return s.Users.RequireFactor(ctx, id, to.factor)
		})
	}
	return to.atLeastOne()
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
