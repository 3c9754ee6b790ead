package remote

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/simplevalidations/simplevalidations/config/health"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/cli"
	"github.com/simplevalidations/simplevalidations/core/client"
)

// checkup is what the command doctor writes for programs.
type checkup struct {
	SchemaVersion int            `json:"schema_version"`
	Version       string         `json:"version"`
	Checks        []health.Check `json:"checks"`
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
				if check.Outcome == health.OutcomeError {
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

func (c *connection) examine(ctx context.Context) ([]health.Check, error) {
	retries := client.DefaultRetries()
	retries.Attempts, retries.Attempt = 1, 10*time.Second
	service, err := c.open(client.WithRetries(retries))
	if err != nil {
		return nil, err
	}
	file, err := c.configuration()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	state, err := service.Health(ctx)
	checks := []health.Check{
		{ID: "SV100", Name: "version", Outcome: health.OutcomeOK, Detail: c.Version},
		reachable(err), ready(state, err), clock(state, time.Since(began)),
		token(ctx, service, c.tokenOf(file) != "", err), c.release(state),
	}
	return append(checks, c.Checks(ctx)...), nil
}

func reachable(err error) health.Check {
	check := health.Check{ID: "SV101", Name: "service reachable", Outcome: health.OutcomeOK}
	if err != nil {
		check.Outcome, check.Detail = health.OutcomeError, err.Error()
		check.Hint = "start the service, or set SV_URL or --url to its URL"
	}
	return check
}

func ready(state client.Health, err error) health.Check {
	check := health.Check{ID: "SV102", Name: "service ready", Outcome: health.OutcomeOK}
	switch {
	case err != nil:
		check.Outcome = health.OutcomeSkipped
	case state.Status != "ok":
		check.Outcome, check.Hint = health.OutcomeError, "contact the operator of the service"
	case state.Redis != "ok":
		check.Outcome, check.Hint = health.OutcomeWarning, "runs are accepted, but executed late"
	}
	if err == nil {
		check.Detail = fmt.Sprintf("database %s, redis %s", state.Database, state.Redis)
	}
	return check
}

func clock(state client.Health, took time.Duration) health.Check {
	check := health.Check{ID: "SV103", Name: "clocks agree", Outcome: health.OutcomeSkipped}
	if state.At.IsZero() {
		return check
	}
	skew := time.Since(state.At).Abs()
	check.Outcome, check.Detail = health.OutcomeOK, fmt.Sprintf("less than %v apart", health.MaxSkew)
	if skew > health.MaxSkew+took {
		check.Outcome, check.Detail = health.OutcomeWarning, skew.Round(time.Second).String()+" apart"
		check.Hint = "set the clock of this machine"
	}
	return check
}

// release compares the release of this program with that of the service. Older services do not report theirs.
func (c *connection) release(state client.Health) health.Check {
	check := health.Check{ID: "SV105", Name: "same release", Outcome: health.OutcomeSkipped}
	switch state.Version {
	case "":
	case c.Version:
		check.Outcome, check.Detail = health.OutcomeOK, "the service runs "+state.Version+", too"
	default:
		check.Outcome = health.OutcomeWarning
		check.Detail = "the service runs " + state.Version + ", this program is " + c.Version
		check.Hint = "use the release of the service: either side may lack features of the other"
	}
	return check
}

func token(ctx context.Context, service *client.Client, isSet bool, unreachable error) health.Check {
	check := health.Check{ID: "SV104", Name: "token valid", Outcome: health.OutcomeSkipped}
	if !isSet {
		check.Detail, check.Hint = "there is none", "set SV_TOKEN if you call the service from here"
		return check
	}
	if unreachable != nil {
		return check
	}
	me, err := service.Me(ctx)
	switch {
	case err == nil:
		check.Outcome, check.Detail = health.OutcomeOK, me.Email+", "+string(me.Role)+" of "+me.Org.Slug
	case errors.Is(err, api.CodeNotAuthenticated):
		check.Outcome, check.Hint = health.OutcomeError, "set SV_TOKEN to a token of the service"
		check.Detail = "the service does not recognize it"
	default:
		check.Outcome, check.Detail = health.OutcomeError, err.Error()
	}
	return check
}
