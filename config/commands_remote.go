package config

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/simplevalidations/simplevalidations/config/remote"
	"github.com/simplevalidations/simplevalidations/core/cli"
	"github.com/simplevalidations/simplevalidations/tasks"
	"github.com/simplevalidations/simplevalidations/users"
)

func (p Program) env() cli.Env {
	return cli.Env{Version: p.Version, Getenv: p.environ}
}

func (p Program) remote() remote.Env {
	return remote.Env{Env: p.env(), Checks: p.localChecks}
}

// orOnDatabase joins two commands of one name: through the API, or with --org on the database itself as operators do.
func orOnDatabase(api, operators *cobra.Command) *cobra.Command {
	through := api.RunE
	var alone []string
	operators.Flags().VisitAll(func(flag *pflag.Flag) {
		if api.Flags().Lookup(flag.Name) == nil {
			// What operators must say is nothing that others need to.
			shared := *flag
			shared.Annotations = nil
			api.Flags().AddFlag(&shared)
			alone = append(alone, flag.Name)
		}
	})
	api.RunE = func(cmd *cobra.Command, args []string) error {
		if cmd.Flags().Changed("org") {
			return runOnDatabase(cmd, operators, args)
		}
		var problems []error
		for _, name := range alone {
			if cmd.Flags().Changed(name) {
				problems = append(problems, &UsageError{Reason: "--" + name + " needs --org"})
			}
		}
		if len(problems) > 0 {
			return errors.Join(problems...)
		}
		return through(cmd, args)
	}
	return api
}

// runOnDatabase runs the command of operators with the flags that the other one was given.
func runOnDatabase(cmd, operators *cobra.Command, args []string) error {
	var problems []error
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if operators.Flags().Lookup(flag.Name) == nil {
			problems = append(problems, &UsageError{Reason: "--" + flag.Name + " cannot be combined with --org"})
			return
		}
		problems = append(problems, operators.Flags().Set(flag.Name, flag.Value.String()))
	})
	if err := errors.Join(problems...); err != nil {
		return err
	}
	if err := operators.ValidateRequiredFlags(); err != nil {
		return &UsageError{Reason: fmt.Sprintf("%v; see %s --help", err, cmd.CommandPath())}
	}
	operators.SetContext(cmd.Context())
	operators.SetOut(cmd.OutOrStdout())
	return operators.RunE(operators, args)
}

// userCommands are those of operators, with what the API offers besides.
func (p Program) userCommands() []*cobra.Command {
	all := users.Commands(p.openUsers)
	for _, group := range all {
		if group.Name() == "org" {
			group.AddCommand(p.deleteOrgCommand(), p.exportOrgCommand(), p.importOrgCommand(), p.usageCommand())
		}
		if group.Name() != "token" {
			continue
		}
		group.Short = "Create, list, rotate and revoke API tokens"
		for _, create := range group.Commands() {
			group.RemoveCommand(create)
			group.AddCommand(orOnDatabase(remote.CreateTokenCommand(p.remote()), create))
		}
		for _, command := range remote.TokenCommands(p.remote()) {
			if command.Name() == "revoke" {
				command = orOnDatabase(command, users.RevokeTokenCommand(p.openUsers))
			}
			group.AddCommand(command)
		}
	}
	return all
}

// localChecks look at what a service on this machine needs, where it is configured.
func (p Program) localChecks(ctx context.Context) []remote.Check {
	var e examination
	e.settings, e.unknown, e.wrong = LoadSettings(p.Environ)
	if e.settings.DatabaseURL != "" {
		b, err := openBackend(ctx, e.settings, newLog(e.settings, p.Stderr))
		if err != nil {
			e.unopened = err
		} else {
			e.db = b.db
			defer func() { _ = b.close(ctx) }() // Nothing was written.
		}
	}
	if e.settings.RedisURL != "" {
		tasks.LogRedisClient(newLog(e.settings, p.Stderr))
		// Its address was read with the settings.
		if queue, err := tasks.ParseRedisURL(string(e.settings.RedisURL)); err == nil {
			e.redis = queue.Client()
			defer func() { _ = e.redis.Close() }() // Nothing was written.
		}
	}
	return e.checks(ctx)
}
