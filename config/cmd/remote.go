package cmd

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/simplevalidations/simplevalidations/config"
	"github.com/simplevalidations/simplevalidations/config/health"
	"github.com/simplevalidations/simplevalidations/config/remote"
	"github.com/simplevalidations/simplevalidations/core/cli"
	"github.com/simplevalidations/simplevalidations/tasks"
	"github.com/simplevalidations/simplevalidations/users/commands"
)

func (p Program) env() cli.Env {
	return cli.Env{Version: p.Version, Getenv: p.environ}
}

func (p Program) remote() remote.Env {
	return remote.Env{Env: p.env(), Checks: p.localChecks}
}

// orgAndUserCommands are those of the app, with what needs the tables of all apps. The app's commands about tokens are
// put under admin.
func (p Program) orgAndUserCommands(admin *cobra.Command) []*cobra.Command {
	all := commands.Commands(p.openUsers)
	for _, group := range all {
		switch group.Name() {
		case "org":
			group.AddCommand(p.deleteOrgCommand(), p.exportOrgCommand(), p.importOrgCommand(), p.moveOrgCommand(),
				p.usageCommand())
		case "token":
			admin.AddCommand(group)
		}
	}
	return slices.DeleteFunc(all, func(group *cobra.Command) bool { return group.HasParent() })
}

// adminCommand holds what operators do on the database to things for which there are commands that call a service.
func (p Program) adminCommand() *cobra.Command {
	admin := &cobra.Command{Use: "admin", Short: "Act on runs and tokens of any organization, and purge old data"}
	runs := &cobra.Command{Use: "runs", Short: "List and requeue runs, and find lost ones"}
	runs.AddCommand(p.listRunsCommand(), p.requeueRunCommand(), p.lostRunsCommand())
	admin.AddCommand(runs, p.purgeCommand())
	return admin
}

// localChecks look at what a service on this machine needs, where it is configured.
func (p Program) localChecks(ctx context.Context) []health.Check {
	var e config.Examination
	e.Settings, e.Unknown, e.Wrong = config.LoadSettings(p.Environ)
	if e.Settings.DatabaseURL != "" {
		b, err := openBackend(ctx, e.Settings, newLog(e.Settings, p.Stderr))
		if err != nil {
			e.Unopened = err
		} else {
			e.DB = b.db
			defer func() { _ = b.close(ctx) }() // Nothing was written.
		}
	}
	if e.Settings.RedisURL != "" {
		tasks.LogRedisClient(newLog(e.Settings, p.Stderr))
		// Its address was read with the settings.
		if queue, err := tasks.ParseRedisURL(string(e.Settings.RedisURL)); err == nil {
			e.Redis = queue.Client()
			defer func() { _ = e.Redis.Close() }() // Nothing was written.
		}
	}
	return e.Checks(ctx)
}
