package workflows

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/mediatype"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/engines"
	"github.com/simplevalidations/simplevalidations/validations/execution"
	"github.com/simplevalidations/simplevalidations/validations/formats"
)

// Surroundings are what the commands know of the process.
type Surroundings struct {
	Version string
	// Environ looks a variable of the environment up.
	Environ func(name string) string
}

// checking is one use of the command check.
type checking struct {
	Surroundings
	command   *cobra.Command
	output    formats.Output
	workflow  string
	mediaType string
}

// Commands are the commands of the app. They need no database.
func Commands(surroundings Surroundings) []*cobra.Command {
	return []*cobra.Command{checkCommand(surroundings)}
}

func checkCommand(surroundings Surroundings) *cobra.Command {
	c := &checking{Surroundings: surroundings}
	c.command = &cobra.Command{
		Use:   "check FILE... --workflow WORKFLOW.yaml",
		Short: "Check documents by a workflow file, without a server",
		Long: `Check documents by a workflow file, without a server, an account or a database.

FILE may be - for standard input. Nothing is sent anywhere: steps that call other services are skipped, and said so.

Exit codes: 0 passed, 1 findings at or above --fail-on, 2 wrong use or a wrong workflow file, 3 a document could not
be checked to the end, 130 interrupted.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args) },
	}
	c.command.Flags().StringVarP(&c.workflow, "workflow", "w", "", "the workflow file")
	c.command.Flags().StringVar(&c.mediaType, "content-type", "",
		"the media type of the documents (default: by the endings of their names)")
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
	parser, err := NewFileParser()
	if err != nil {
		return err
	}
	file, err := parser.ReadFile(ctx, c.workflow)
	if err != nil {
		return err
	}
	checker, err := execution.NewChecker(file.Definition)
	if err != nil {
		return &core.ExitError{Code: core.ExitUsage, Reason: err.Error()}
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

// refuse finds what would end the command, before any document is checked: what was found in the documents before it
// would be lost. A workflow without steps finds no fault in anything, which is no pass.
func (c *checking) refuse(definition validations.Definition, names []string) error {
	if len(definition.Steps) == 0 {
		return &core.ExitError{Code: core.ExitUsage, Reason: c.workflow + " has no steps, so nothing would be checked"}
	}
	for _, name := range names {
		if _, err := c.typeOf(definition, name); err != nil {
			return err
		}
	}
	if err := RefuseSources(names); err != nil {
		return &core.ExitError{Code: core.ExitUsage, Reason: err.Error()}
	}
	return nil
}

// conclude writes the verdict and ends the command with the code that it stands for.
func (c *checking) conclude(v formats.Verdict) error {
	terminal := formats.Terminal{
		Stdout: c.command.OutOrStdout(), Environ: c.Environ, Interactive: isTerminal(c.command.OutOrStdout()),
	}
	if err := c.output.Write(v, terminal); err != nil {
		return &core.ExitError{Code: core.ExitUnable, Reason: err.Error()}
	}
	if c.output.Format(terminal) != formats.FormatText {
		c.warnOfSkipped(v)
	}
	for _, document := range v.Documents {
		if document.Result != formats.ResultPass && document.Result != formats.ResultFail {
			return &core.ExitError{Code: core.ExitUnable}
		}
	}
	if c.output.Failed(v) {
		return &core.ExitError{Code: core.ExitFailed}
	}
	return nil
}

// warnOfSkipped tells people of steps that were left out, which a report for programs may bury.
func (c *checking) warnOfSkipped(v formats.Verdict) {
	for _, document := range v.Documents {
		for _, step := range document.Steps {
			if step.Note != "" {
				c.command.PrintErrf("warning: %q: step %q was skipped: %s\n", document.Name, step.Name, step.Note)
			}
		}
	}
}

// ReadFile reads a workflow from the file of that name. Its faults are told as compilers do.
func (p *FileParser) ReadFile(ctx context.Context, name string) (File, error) {
	opened, err := os.Open(name) //nolint:gosec // the caller's own file is what is to be read
	if err != nil {
		return File{}, &core.ExitError{Code: core.ExitUsage, Reason: err.Error()}
	}
	content, err := io.ReadAll(io.LimitReader(opened, maxDefinitionBytes+1))
	if err := errors.Join(err, opened.Close()); err != nil {
		return File{}, &core.ExitError{Code: core.ExitUsage, Reason: err.Error()}
	}
	file, faults, err := p.Parse(ctx, content)
	if err != nil {
		return File{}, interrupted(ctx, err)
	}
	if len(faults) == 0 {
		return file, nil
	}
	lines := []string{"the workflow file is wrong:"}
	for _, fault := range faults {
		place := name
		if fault.Line > 0 {
			place = fmt.Sprintf("%s:%d:%d", place, fault.Line, max(1, fault.Column))
		}
		lines = append(lines, place+": "+strings.TrimSpace(fault.Pointer+" "+fault.Detail))
	}
	return File{}, &core.ExitError{Code: core.ExitUsage, Reason: strings.Join(lines, "\n  ")}
}

// check checks the document of that name, or standard input.
func (c *checking) check(
	ctx context.Context, checker *execution.Checker, definition validations.Definition, name string,
) (formats.Document, error) {
	mediaType, err := c.typeOf(definition, name)
	if err != nil {
		return formats.Document{}, err
	}
	source, err := OpenSource(c.command.InOrStdin(), name)
	if err != nil {
		return formats.Document{}, &core.ExitError{Code: core.ExitUsage, Reason: err.Error()}
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
			return "", misuse(fmt.Sprintf("the workflow does not take %s; it takes %s",
				c.mediaType, strings.Join(definition.Accepts, ", ")))
		}
		return c.mediaType, nil
	}
	mediaType, known := mediatype.OfFile(name, definition.Accepts)
	if !known {
		return "", misuse(fmt.Sprintf("%s seems to be of another type than the workflow takes (%s); "+
			"if not, set --content-type", name, strings.Join(definition.Accepts, ", ")))
	}
	return mediaType, nil
}

func misuse(reason string) error {
	return &core.ExitError{Code: core.ExitUsage, Reason: reason + "; see simplevalidations check --help"}
}

func interrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return &core.ExitError{Code: core.ExitInterrupted, Reason: "interrupted"}
	}
	return err
}

func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
