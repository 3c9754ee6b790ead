// Package idemcheck is the command that tells whether the idempotency keys of an API, of any API, are safe. What is
// checked and how is core/idemcheck; here are the flags, the reports, and the drafts of descriptions.
package idemcheck

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/cli"
	"github.com/simplevalidations/simplevalidations/core/idemcheck"
	"github.com/simplevalidations/simplevalidations/validations/formats"
)

// checking is one use of the command.
type checking struct {
	cli.Env

	command            *cobra.Command
	request            string
	openapi, operation string
	profile            string
	only               []string
	seed               uint64
	jobs               int
	yes                bool
	format             string
	outputs            []string
}

// Command makes the command idemcheck.
func Command(s cli.Env) *cobra.Command {
	c := &checking{Env: s}
	var list bool
	c.command = &cobra.Command{
		Use: "idemcheck [URL] --request FILE", Short: "Check whether the Idempotency-Key of an API is safe",
		Long: `Check whether the Idempotency-Key of an API is safe: any API, not only this service. URL is its base URL,
like http://localhost:3000.

The file says how a request looks and how its effects are counted; idemcheck init writes a first one from a command
line of curl or from an OpenAPI document. The command sends requests as clients do whose networks fail: twice, at once,
in part, with another body, as another tenant, through a proxy that loses answers. For each case it says what must hold,
what was seen, what that means to a customer, and the commands of curl that repeat it. It says which cases it cannot
judge.

The requests do what they say. The command states how many it sends at most, and asks before it sends any to an
address that is not of this machine; --yes answers that.

Exit codes: 0 every promise that must hold does, 1 one does not, 2 wrong use, 3 nothing could be judged, 130
interrupted.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if list {
				return listCases(cmd)
			}
			return c.check(cmd.Context(), args)
		},
	}
	flags := c.command.Flags()
	flags.StringVarP(&c.request, "request", "r", "", "the `FILE` that describes the request")
	flags.StringVar(&c.openapi, "openapi", "", "the OpenAPI document that describes it, in place of a file")
	flags.StringVar(&c.operation, "operation", "", "the operationId in the OpenAPI document")
	flags.StringVar(&c.profile, "profile", string(idemcheck.ProfileStrict),
		"whose promises must hold: ietf, stripe or strict")
	flags.StringArrayVar(&c.only, "only", nil, "try this case or topic, like replay or race/*; may be repeated")
	flags.Uint64Var(&c.seed, "seed", 0, "the seed of keys, references and faults (default: drawn and shown)")
	flags.BoolVar(&list, "list", false, "list the cases with how much each profile demands them, and send nothing")
	flags.IntVar(&c.jobs, "jobs", defaultJobs, "how many cases are tried at once")
	flags.BoolVarP(&c.yes, "yes", "y", false, "send requests to an address that is not of this machine")
	flags.StringVar(&c.format, "format", "text", "text, json, junit, sarif, markdown or badge")
	flags.StringArrayVar(&c.outputs, "output", nil, "also write a report, as FORMAT=FILE; may be repeated")
	formats.CompleteFlag(c.command, "profile", idemcheck.Profiles()...)
	formats.CompleteFlag(c.command, "format", reportFormats()...)
	c.command.AddCommand(initCommand())
	return c.command
}

// defaultJobs is how many cases are tried at once.
const defaultJobs = 8

func (c *checking) check(ctx context.Context, args []string) error {
	checker, err := c.prepare(args)
	if err != nil {
		return err
	}
	plan, err := checker.Plan()
	if err != nil {
		return cli.Misuse("%v", err)
	}
	c.command.PrintErrf("%s: %s with about %d requests (at most %d) in %v or more (at most %v); seed %d\n",
		plan.Target, core.Plural(len(plan.Cases), "case"), plan.Requests, plan.MostRequests,
		max(time.Second, plan.Lasts.Round(time.Second)), plan.MostLasts.Round(time.Second), checker.Seed)
	if err := c.confirm(plan); err != nil {
		return err
	}
	if cli.IsTerminal(c.command.ErrOrStderr()) {
		bar := progressbar.NewOptions(len(plan.Cases), progressbar.OptionSetWriter(c.command.ErrOrStderr()),
			progressbar.OptionClearOnFinish(), progressbar.OptionSetRenderBlankState(true))
		checker.Progress = func(done, _ int, name string) {
			bar.Describe(name)
			_ = bar.Set(done) // A bar that cannot be drawn must not fail the command.
		}
	}
	report, err := checker.Run(ctx)
	if ctx.Err() != nil {
		return &cli.ExitError{Code: cli.ExitInterrupted}
	}
	if err != nil {
		return &cli.ExitError{Code: cli.ExitUnable, Reason: err.Error()}
	}
	return c.conclude(report)
}

// prepare reads the description and the flags.
func (c *checking) prepare(args []string) (*idemcheck.Checker, error) {
	for _, output := range c.outputs {
		if name, _, found := strings.Cut(output, "="); !found || writerOf(name) == nil {
			return nil, cli.Misuse("--output %s: write FORMAT=FILE, such as junit=report.xml", output)
		}
	}
	if writerOf(c.format) == nil {
		return nil, cli.Misuse("there is no format %q; it is text, json, junit, sarif, markdown or badge", c.format)
	}
	checker := &idemcheck.Checker{
		Profile: idemcheck.Profile(c.profile), Seed: c.seed, Jobs: c.jobs, Only: c.only, Lookup: c.lookup,
	}
	if checker.Seed == 0 {
		checker.Seed = rand.Uint64() >> 32 //nolint:gosec // keys have to be new, and are no secrets
	}
	if idemcheck.Cases()[0].Levels[checker.Profile] == "" {
		return nil, cli.Misuse("there is no profile %q; it is ietf, stripe or strict", c.profile)
	}
	if len(args) > 0 {
		checker.Base = args[0]
	}
	text, err := c.description(&checker.Base)
	if err != nil {
		return nil, err
	}
	if checker.Description, err = idemcheck.Read(text, c.lookup); err != nil {
		return nil, cli.Misuse("%s: %v", cmp.Or(c.request, c.openapi), err)
	}
	return checker, nil
}

func (c *checking) description(base *string) ([]byte, error) {
	switch {
	case (c.request == "") == (c.openapi == ""):
		return nil, cli.Misuse("say what to send: --request FILE, or --openapi FILE and --operation ID")
	case c.openapi != "":
		drafted, server, err := draftOfOperation(c.openapi, c.operation)
		*base = cmp.Or(*base, server)
		return []byte(drafted), err
	}
	text, err := os.ReadFile(c.request)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, cli.Misuse("there is no file %s; simplevalidations idemcheck init writes one", c.request)
	}
	return text, err
}

func (c *checking) lookup(name string) (string, bool) {
	text := c.Getenv(name)
	return text, text != ""
}

// confirm asks before anything is sent to another machine.
func (c *checking) confirm(plan idemcheck.Plan) error {
	to, err := url.Parse(plan.Target)
	if err != nil {
		return cli.Misuse("%v", err)
	}
	host := to.Hostname()
	if ip := net.ParseIP(host); c.yes || host == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	if !cli.IsTerminal(c.command.InOrStdin()) {
		return cli.Misuse("%s is not of this machine: say --yes to send up to %d requests there", host,
			plan.MostRequests)
	}
	c.command.PrintErrf("%s is not of this machine. Send up to %d requests to it? [y/N] ", host, plan.MostRequests)
	answer, _ := bufio.NewReader(c.command.InOrStdin()).ReadString('\n') // No answer is no.
	if said := strings.ToLower(strings.TrimSpace(answer)); said != "y" && said != "yes" {
		return &cli.ExitError{Code: cli.ExitUsage, Reason: "nothing was sent"}
	}
	return nil
}

// conclude writes the reports, and ends the command with the code of the verdict.
func (c *checking) conclude(report idemcheck.Report) error {
	named := shown{Report: report, name: cmp.Or(c.request, c.openapi), version: c.Version}
	for _, output := range c.outputs {
		format, file, _ := strings.Cut(output, "=")
		text, err := writerOf(format)(named)
		if err == nil {
			err = os.WriteFile(file, text, 0o644) //nolint:gosec // others may read a report
		}
		if err != nil {
			return &cli.ExitError{Code: cli.ExitUnable, Reason: fmt.Sprintf("write the report: %v", err)}
		}
	}
	named.colored = cli.IsTerminal(c.command.OutOrStdout()) && c.Getenv("NO_COLOR") == ""
	text, err := writerOf(c.format)(named)
	if err == nil {
		_, err = c.command.OutOrStdout().Write(text)
	}
	switch {
	case err != nil:
		return &cli.ExitError{Code: cli.ExitUnable, Reason: fmt.Sprintf("write the report: %v", err)}
	case report.Broken():
		return &cli.ExitError{Code: cli.ExitFailed}
	case !report.Conclusive():
		return &cli.ExitError{Code: cli.ExitUnable, Reason: "no case that must hold could be judged"}
	}
	return nil
}

func listCases(cmd *cobra.Command) error {
	rows := [][]string{{"CASE", "IETF", "STRIPE", "STRICT", "WHAT MUST HOLD"}}
	for _, tt := range idemcheck.Cases() {
		rows = append(rows, []string{
			tt.Name, string(tt.Levels[idemcheck.ProfileIETF]), string(tt.Levels[idemcheck.ProfileStripe]),
			string(tt.Levels[idemcheck.ProfileStrict]), tt.Holds,
		})
	}
	return cli.WriteTable(cmd.OutOrStdout(), rows...)
}
