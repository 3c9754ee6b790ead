// Package cmd is the command line: the commands of operators, which act on the database, and around them those that
// call a service or need none.
package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/simplevalidations/simplevalidations/config"
	"github.com/simplevalidations/simplevalidations/config/idemcheck"
	"github.com/simplevalidations/simplevalidations/config/remote"
	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/cli"
	"github.com/simplevalidations/simplevalidations/docs"
	"github.com/simplevalidations/simplevalidations/users/commands"
	"github.com/simplevalidations/simplevalidations/workflows/files"
)

// Program is what main passes on: the environment, the streams and the version.
type Program struct {
	Environ []string
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	Version string
}

// Run runs the command line and returns the process's exit code: 0 done, 1 failed, 2 used wrongly, or what a command
// says in a cli.ExitError.
func (p Program) Run(ctx context.Context, args []string) int {
	root := p.Command() //nolint:contextcheck // cobra hands the context to the command that runs
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	if !isPrinted(err) {
		if _, printErr := fmt.Fprintln(p.Stderr, "simplevalidations:", explainError(err)); printErr != nil {
			return cli.ExitFailed
		}
	}
	return exitCode(err)
}

// isPrinted reports whether the command itself has said what is wrong.
func isPrinted(err error) bool {
	exit, exits := errors.AsType[*cli.ExitError](err)
	return exits && exit.Reason == ""
}

func exitCode(err error) int {
	if exit, exits := errors.AsType[*cli.ExitError](err); exits {
		return exit.Code
	}
	if isWrongUse(err) {
		return cli.ExitUsage
	}
	return cli.ExitFailed
}

// isWrongUse reports whether the command line, or a value in it, is wrong.
func isWrongUse(err error) bool {
	if _, ok := errors.AsType[*config.UsageError](err); ok {
		return true
	}
	broken, ok := errors.AsType[*core.Error](err)
	return ok && (broken.Code == api.CodeInvalidPayload || broken.Code == api.CodeInvalidParameter)
}

// explainError says what is wrong with each value, for which a client is sent to the problem document.
func explainError(err error) string {
	broken, ok := errors.AsType[*core.Error](err)
	switch {
	case !ok, !isWrongUse(err) && (err.Error() != broken.Error() || errors.Unwrap(broken) != nil):
		return err.Error() // What surrounds the error, or caused it, is for the operator as well.
	case len(broken.Fields) == 0:
		return broken.Detail
	}
	lines := make([]string, len(broken.Fields))
	for i, field := range broken.Fields {
		lines[i] = strings.TrimPrefix(field.Pointer, "/") + field.Parameter + " " + field.Detail
	}
	if len(lines) == 1 {
		return lines[0]
	}
	return fmt.Sprintf("%d values are wrong:\n  %s", len(lines), strings.Join(lines, "\n  "))
}

// Command returns the command line with all its commands, which run as Run does.
func (p Program) Command() *cobra.Command {
	root := &cobra.Command{
		Use:           "simplevalidations",
		Short:         "Validate documents over HTTP, each run exactly once",
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       p.Version,
	}
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	root.SetIn(p.Stdin)
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	root.SetFlagErrorFunc(refuseFlag)
	admin := p.adminCommand()
	root.AddCommand(p.serveCommand(), p.migrateCommand(), p.seedCommand(), p.configCommand(), p.openAPICommand(),
		p.idempotencyCommand(), admin, p.signingSecretCommand(), p.secretsCommand())
	root.AddCommand(remote.Commands(p.remote())...)
	root.AddCommand(p.orgAndUserCommands(admin)...)
	root.AddCommand(files.Commands(p.env())...)
	root.AddCommand(idemcheck.Command(p.env()))
	groupCommands(root)
	root.InitDefaultCompletionCmd()
	refuseWrongUse(root)
	return root
}

// groupCommands tells in the help of the program who needs which command.
func groupCommands(root *cobra.Command) {
	const clients, operators, alone = "clients", "operators", "alone"
	root.AddGroup(&cobra.Group{ID: clients, Title: "Commands that call a service:"},
		&cobra.Group{ID: operators, Title: "Commands that operate a service:"},
		&cobra.Group{ID: alone, Title: "Commands that need no service:"})
	groups := map[string]string{
		"serve": operators, "migrate": operators, "config": operators, "seed": operators, "org": operators,
		"user": operators, "admin": operators, "idempotency": operators, "secrets": operators,
		"signing-secret": operators, "doctor": operators,
		"check": alone, "idemcheck": alone, "infer": alone, "openapi": alone,
	}
	for _, command := range root.Commands() {
		command.GroupID = cmp.Or(groups[command.Name()], clients)
	}
}

// environ looks a variable of the environment up; the last one of the name counts.
func (p Program) environ(name string) string {
	for _, variable := range slices.Backward(p.Environ) {
		if value, ok := strings.CutPrefix(variable, name+"="); ok {
			return value
		}
	}
	return ""
}

// settings loads the settings and makes the log, which goes to standard error: standard output is data.
func (p Program) settings(ctx context.Context) (config.Settings, *slog.Logger, error) {
	settings, unknown, err := config.LoadSettings(p.Environ)
	if err != nil {
		return config.Settings{}, nil, err
	}
	log := newLog(settings, p.Stderr)
	for _, name := range unknown {
		log.WarnContext(ctx, "unknown setting is ignored", "name", name)
	}
	return settings, log, nil
}

func newLog(settings config.Settings, w io.Writer) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(settings.LogLevel)); err != nil {
		level = slog.LevelInfo
	}
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: inMilliseconds}
	if settings.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

// inMilliseconds gives durations a unit, as all lines of the log name them. JSON would have nanoseconds without one.
func inMilliseconds(_ []string, attr slog.Attr) slog.Attr {
	if attr.Value.Kind() != slog.KindDuration {
		return attr
	}
	return slog.Int64(attr.Key+"_ms", attr.Value.Duration().Milliseconds())
}

// withBackend runs a command on a database that has the schema of this release.
func (p Program) withBackend(ctx context.Context, do func(context.Context, config.Settings, *backend) error) error {
	return p.withOpen(ctx, openForOperator, do)
}

// withOpen runs a command on the database that open opens.
func (p Program) withOpen(
	ctx context.Context, open func(context.Context, config.Settings, *slog.Logger) (*backend, error),
	do func(context.Context, config.Settings, *backend) error,
) error {
	settings, log, err := p.settings(ctx)
	if err != nil {
		return err
	}
	if settings, err = withSecretKey(settings); err != nil {
		return err
	}
	b, err := open(ctx, settings, log)
	if err != nil {
		return config.WithHint(err)
	}
	return errors.Join(config.WithHint(do(ctx, settings, b)), b.close(ctx))
}

func (p Program) configCommand() *cobra.Command {
	group := &cobra.Command{Use: "config", Short: "Show the settings"}
	group.AddCommand(&cobra.Command{
		Use: "show", Short: "Print the settings, secrets redacted", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			settings, _, err := p.settings(cmd.Context())
			if err != nil {
				return err
			}
			return settings.Print(p.Stdout)
		},
	})
	return group
}

func (p Program) openAPICommand() *cobra.Command {
	return &cobra.Command{
		Use: "openapi", Short: "Print the OpenAPI document of the REST API", Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := p.Stdout.Write(docs.OpenAPI())
			return err
		},
	}
}

// opened is what most commands work with: the services of the project on an opened database.
type opened struct {
	config.Services

	project  *config.Project
	settings config.Settings
	*backend
}

// withProject is withBackend with the project that the settings describe.
func (p Program) withProject(ctx context.Context, do func(context.Context, opened) error) error {
	return p.withBackend(ctx, func(ctx context.Context, settings config.Settings, b *backend) error {
		project, err := config.NewProject(ctx, settings, p.Version, b.db, nil, b.log)
		if err != nil {
			return err
		}
		return do(ctx, opened{project.Services(), project, settings, b})
	})
}

func (p Program) openUsers(ctx context.Context, do func(context.Context, *commands.Service) error) error {
	return p.withProject(ctx, func(ctx context.Context, in opened) error {
		return do(ctx, commands.NewService(in.db, in.Users))
	})
}

func report(w io.Writer, err error, format string, args ...any) error {
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, format, args...)
	return err
}

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return &config.UsageError{Reason: cmd.CommandPath() + " takes no arguments, got " + strings.Join(args, " ")}
	}
	return nil
}

// Version returns the version that the linker was given. Without one it is what go install has recorded, for which no
// linker flags are given, or dev.
func Version(linked string, info *debug.BuildInfo) string {
	switch {
	case linked != "":
		return linked
	case info == nil || info.Main.Version == "" || info.Main.Version == "(devel)":
		return "dev"
	}
	return strings.TrimPrefix(info.Main.Version, "v")
}
