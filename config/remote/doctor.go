package remote

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/simplevalidations/simplevalidations/core/cli"
	"github.com/simplevalidations/simplevalidations/core/client"
)

// Outcome is the result of a check.
type Outcome string

// The outcomes. A warning does not fail the command.
const (
	OutcomeOK      Outcome = "ok"
	OutcomeWarning Outcome = "warning"
	OutcomeError   Outcome = "error"
	OutcomeSkipped Outcome = "skipped"
)

// Check is something that was looked at. Its id never changes its meaning.
type Check struct {
	ID      string  `json:"id"`
	Name    string  `json:"name"`
	Outcome Outcome `json:"outcome"`
	Detail  string  `json:"detail"`
	// Hint says what to do about it.
	Hint string `json:"hint"`
}

// Address is where the documentation explains the check.
func (c Check) Address() string {
	return "/docs/guides/operators/#" + strings.ToLower(c.ID) + "-" + strings.ReplaceAll(c.Name, " ", "-")
}

// MaxSkew is how far two clocks may be apart before doctor warns: times in answers are whole seconds.
const MaxSkew = 5 * time.Second

// checkup is what the command doctor writes for programs.
type checkup struct {
	SchemaVersion int     `json:"schema_version"`
	Version       string  `json:"version"`
	Checks        []Check `json:"checks"`
}

func doctorCommand(s Env) *cobra.Command {
	c := connection{Env: s}
	var asJSON bool
	command := &cobra.Command{
		Use: "doctor", Short: "Diagnose the command line and this machine's service",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			checks, err := c.examine(cmd.Context())
			if err != nil {
				return err
			}
			if err := writeChecks(cmd, checkup{schemaVersion, s.Version, checks}, asJSON); err != nil {
				return err
			}
			for _, check := range checks {
				if check.Outcome == OutcomeError {
					return &cli.ExitError{Code: cli.ExitUnable}
				}
			}
			return nil
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	c.bind(command)
	return command
}

func writeChecks(cmd *cobra.Command, found checkup, asJSON bool) error {
	if asJSON {
		return writeJSON(cmd, found)
	}
	var rows [][]string
	for _, check := range found.Checks {
		rows = append(rows, []string{check.ID, string(check.Outcome), check.Name, check.Detail})
		if check.Hint != "" {
			rows = append(rows, []string{"", "", "", check.Hint})
		}
	}
	return cli.WriteTable(cmd.OutOrStdout(), rows...)
}

func (c *connection) examine(ctx context.Context) ([]Check, error) {
	retries := client.DefaultRetries()
	retries.Attempts, retries.Attempt = 1, 10*time.Second
	api, err := c.open(client.WithRetries(retries))
	if err != nil {
		return nil, err
	}
	file, err := c.configuration()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	health, err := api.Health(ctx)
	checks := []Check{
		{ID: "SV100", Name: "version", Outcome: OutcomeOK, Detail: c.Version},
		reachable(err), ready(health, err), clock(health, time.Since(began)),
		token(ctx, api, c.tokenOf(file) != "", err), c.release(health),
	}
	return append(checks, c.Checks(ctx)...), nil
}

func reachable(err error) Check {
	check := Check{ID: "SV101", Name: "service reachable", Outcome: OutcomeOK}
	if err != nil {
		check.Outcome, check.Detail = OutcomeError, err.Error()
		check.Hint = "start the service, or set SV_URL or --url to its URL"
	}
	return check
}

func ready(health client.Health, err error) Check {
	check := Check{ID: "SV102", Name: "service ready", Outcome: OutcomeOK}
	switch {
	case err != nil:
		check.Outcome = OutcomeSkipped
	case health.Status != "ok":
		check.Outcome, check.Hint = OutcomeError, "contact the operator of the service"
	case health.Redis != "ok":
		check.Outcome, check.Hint = OutcomeWarning, "runs are accepted, but executed late"
	}
	if err == nil {
		check.Detail = fmt.Sprintf("database %s, redis %s", health.Database, health.Redis)
	}
	return check
}

func clock(health client.Health, took time.Duration) Check {
	check := Check{ID: "SV103", Name: "clocks agree", Outcome: OutcomeSkipped}
	if health.At.IsZero() {
		return check
	}
	skew := time.Since(health.At).Abs()
	check.Outcome, check.Detail = OutcomeOK, fmt.Sprintf("less than %v apart", MaxSkew)
	if skew > MaxSkew+took {
		check.Outcome, check.Detail = OutcomeWarning, skew.Round(time.Second).String()+" apart"
		check.Hint = "set the clock of this machine"
	}
	return check
}

// release compares the release of this program with that of the service. Older services do not report theirs.
func (c *connection) release(health client.Health) Check {
	check := Check{ID: "SV105", Name: "same release", Outcome: OutcomeSkipped}
	switch health.Version {
	case "":
	case c.Version:
		check.Outcome, check.Detail = OutcomeOK, "the service runs "+health.Version+", too"
	default:
		check.Outcome, check.Detail = OutcomeWarning, "the service runs "+health.Version+", this program is "+c.Version
		check.Hint = "use the release of the service: either side may lack features of the other"
	}
	return check
}

func token(ctx context.Context, api *client.Client, isSet bool, unreachable error) Check {
	check := Check{ID: "SV104", Name: "token valid", Outcome: OutcomeSkipped}
	if !isSet {
		check.Detail, check.Hint = "there is none", "set SV_TOKEN if you call the service from here"
		return check
	}
	if unreachable != nil {
		return check
	}
	me, err := api.Me(ctx)
	switch {
	case err == nil:
		check.Outcome, check.Detail = OutcomeOK, me.Email+", "+string(me.Role)+" of "+me.Org.Slug
	case errors.Is(err, client.ErrNotAuthenticated):
		check.Outcome, check.Hint = OutcomeError, "set SV_TOKEN to a token of the service"
		check.Detail = "the service does not recognize it"
	default:
		check.Outcome, check.Detail = OutcomeError, err.Error()
	}
	return check
}
