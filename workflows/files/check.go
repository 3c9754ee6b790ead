package files

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/cli"
	"github.com/simplevalidations/simplevalidations/core/mediatype"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/engines"
	"github.com/simplevalidations/simplevalidations/validations/execution"
	"github.com/simplevalidations/simplevalidations/validations/formats"
)

// checking is one use of the command check.
type checking struct {
	cli.Env
	command   *cobra.Command
	output    formats.Output
	workflow  string
	mediaType string
	allowHTTP bool
}

// Commands are the commands of the app. They need no database.
func Commands(env cli.Env) []*cobra.Command {
	return []*cobra.Command{checkCommand(env), inferCommand()}
}

func checkCommand(env cli.Env) *cobra.Command {
	c := &checking{Env: env}
	c.command = &cobra.Command{
		Use:   "check FILE... --workflow WORKFLOW.yaml",
		Short: "Check documents against a workflow file, without a server",
		Long: `Check documents against a workflow file, without a server, an account or a database.

FILE may be - for standard input. Nothing is sent anywhere: steps that call other services are skipped, with a warning.
With --allow-http they are called, at public addresses over https and in the networks of SV_EXTERNAL_ALLOW.

Exit codes: 0 passed, 1 findings at or above --fail-on, 2 wrong use or a wrong workflow file, 3 a document could not
be checked to the end, 130 interrupted.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args) },
	}
	c.command.Flags().StringVarP(&c.workflow, "workflow", "w", "", "the workflow file")
	c.command.Flags().StringVar(&c.mediaType, "content-type", "",
		"the media type of the documents (default: by file extension)")
	c.command.Flags().BoolVar(&c.allowHTTP, "allow-http", false, "send documents to the services of http steps")
	c.output.Bind(c.command)
	return c.command
}

func (c *checking) run(ctx context.Context, names []string) error {
	if c.workflow == "" {
		return misuse("name the workflow file with --workflow")
	}
	if err := c.output.Check(); err != nil {
		return misuse(err.Error())
	}
	parser, err := NewParser()
	if err != nil {
		return err
	}
	file, err := parser.ReadFile(ctx, c.workflow, c.command.ErrOrStderr())
	if err != nil {
		return err
	}
	checker, err := execution.NewChecker(file.Definition)
	if err != nil {
		return cli.Misuse("%v", err)
	}
	if c.allowHTTP {
		networks, err := c.networks()
		if err != nil {
			return err
		}
		checker.AllowHTTP(networks)
	}
	if err := c.refuse(file.Definition, names); err != nil {
		return err
	}
	verdict := formats.Verdict{Program: c.Version, Workflow: file.Slug, At: time.Now()}
	for _, name := range names {
		document, err := c.check(ctx, checker, file.Definition, name)
		if err != nil {
			return err
		}
		verdict.Documents = append(verdict.Documents, document)
	}
	return c.conclude(verdict)
}

// networks are those that external validators may be in, besides the public ones.
func (c *checking) networks() ([]netip.Prefix, error) {
	var networks []netip.Prefix
	for text := range strings.SplitSeq(c.Getenv("SV_EXTERNAL_ALLOW"), ",") {
		if text == "" {
			continue
		}
		network, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, cli.Misuse("SV_EXTERNAL_ALLOW: %q is not a network such as 127.0.0.0/8", text)
		}
		networks = append(networks, network)
	}
	return networks, nil
}

// refuse finds faults that would end the command before any document is checked, so that no results are lost. A
// workflow without steps passes nothing: it would find no errors in any document.
func (c *checking) refuse(definition validations.Definition, names []string) error {
	if len(definition.Steps) == 0 {
		return cli.Misuse("%s has no steps, so nothing would be checked", c.workflow)
	}
	for _, name := range names {
		if _, err := c.typeOf(definition, name); err != nil {
			return err
		}
	}
	if err := cli.CheckSources(names); err != nil {
		return cli.Misuse("%v", err)
	}
	return nil
}

// conclude writes the verdict and ends the command with its exit code.
func (c *checking) conclude(v formats.Verdict) error {
	terminal := formats.Terminal{
		Stdout: c.command.OutOrStdout(), Environ: c.Getenv, Interactive: cli.IsTerminal(c.command.OutOrStdout()),
	}
	if err := c.output.Write(v, terminal); err != nil {
		return &cli.ExitError{Code: cli.ExitUnable, Reason: err.Error()}
	}
	if c.output.Format(terminal) != formats.FormatText {
		c.warnOfSkipped(v)
	}
	for _, document := range v.Documents {
		if document.Result != api.RunResultPass && document.Result != api.RunResultFail {
			return &cli.ExitError{Code: cli.ExitUnable}
		}
	}
	if c.output.Failed(v) {
		return &cli.ExitError{Code: cli.ExitFailed}
	}
	return nil
}

// warnOfSkipped warns people of skipped steps, which reports for programs may not show.
func (c *checking) warnOfSkipped(v formats.Verdict) {
	for _, document := range v.Documents {
		for _, step := range document.Steps {
			if step.Note != "" {
				c.command.PrintErrf("warning: %q: step %q was skipped: %s\n", document.Name, step.Name, step.Note)
			}
		}
	}
}

// check checks the document of that name, or standard input.
func (c *checking) check(
	ctx context.Context, checker *execution.Checker, definition validations.Definition, name string,
) (formats.Document, error) {
	mediaType, err := c.typeOf(definition, name)
	if err != nil {
		return formats.Document{}, err
	}
	source, err := cli.OpenSource(c.command.InOrStdin(), name, engines.DefaultLimits().MaxTableBytes)
	if err != nil {
		return formats.Document{}, cli.Misuse("%v", err)
	}
	progress := newProgress(c.command.ErrOrStderr(), source, len(definition.Steps))
	document := engines.Document{
		Content: progress, Size: source.Size, MediaType: mediaType, Filename: filepath.Base(source.Name),
	}
	checked, err := checker.Check(ctx, source.Name, document, progress.begin)
	progress.end()
	if err := errors.Join(err, source.Close()); err != nil {
		return formats.Document{}, interrupted(ctx, err)
	}
	return checked, nil
}

// typeOf is the media type under which a server would take the document.
func (c *checking) typeOf(definition validations.Definition, name string) (string, error) {
	if c.mediaType != "" {
		if !definition.Takes(c.mediaType) {
			return "", misuse(fmt.Sprintf("the workflow does not accept %s; it accepts %s",
				c.mediaType, strings.Join(definition.Accepts, ", ")))
		}
		return c.mediaType, nil
	}
	mediaType, known := mediatype.OfFile(name, definition.Accepts)
	if !known {
		return "", misuse(fmt.Sprintf("%s seems to have another type than the workflow accepts (%s); "+
			"if not, set --content-type", name, strings.Join(definition.Accepts, ", ")))
	}
	return mediaType, nil
}

func misuse(reason string) error {
	return cli.Misuse("%s; see simplevalidations check --help", reason)
}
