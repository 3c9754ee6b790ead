package cmd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"github.com/simplevalidations/simplevalidations/config"
	"github.com/simplevalidations/simplevalidations/config/health"
	"github.com/simplevalidations/simplevalidations/core/cli"
	"github.com/simplevalidations/simplevalidations/core/embedded"
	"github.com/simplevalidations/simplevalidations/tasks"
	"github.com/simplevalidations/simplevalidations/validations/execution"
)

// errPostgresEnded means that the private PostgreSQL has died under the service.
var errPostgresEnded = errors.New("the private PostgreSQL has ended")

func (p Program) serveCommand() *cobra.Command {
	var o serveOptions
	command := &cobra.Command{
		Use:   "serve",
		Short: "Run the service: web server, worker, scheduler and loops",
		Long: "Run the service. Without DATABASE_URL a private PostgreSQL is started in SV_DATA_DIR, and without\n" +
			"REDIS_URL a Redis inside the process. All settings are environment variables: config show prints them." +
			"\n\n" +
			"Exit codes: 0 stopped by a signal, 1 failed, 2 wrong settings, 8 pending migrations and --migrate=off.",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			parts, err := health.ParseRoles(o.only)
			if err != nil {
				return &config.UsageError{Reason: err.Error()}
			}
			if !slices.Contains([]string{migrateOn, migrateOff}, o.migrate) {
				return &config.UsageError{Reason: "--migrate is on or off, not " + o.migrate}
			}
			return p.logFailure(cmd.Context(), p.serve(cmd.Context(), parts, o))
		},
	}
	command.Flags().StringSliceVar(&o.only, "only", nil, "run only these roles: web, worker, scheduler")
	command.Flags().StringVar(&o.migrate, "migrate", migrateOn,
		"whether to apply pending migrations first; off refuses to start while there are any")
	command.Flags().BoolVar(&o.demo, "demo", false, "seed the demo and print how to use it")
	return command
}

type serveOptions struct {
	only    []string
	migrate string
	demo    bool
}

const (
	migrateOn  = "on"
	migrateOff = "off"
)

// open opens the database, migrates it unless the operator does, and checks that it can be served with these settings.
func (o serveOptions) open(ctx context.Context, settings config.Settings, log *slog.Logger) (*backend, error) {
	open := openMigrated
	if o.migrate == migrateOff {
		open = openCurrent
	}
	b, err := open(ctx, settings, log)
	if err != nil {
		return nil, err
	}
	err = checkSecretKey(ctx, b.db, settings)
	if err == nil {
		err = config.RequireStore(ctx, b.db, settings)
	}
	if err != nil {
		return nil, errors.Join(err, b.close(ctx))
	}
	return b, nil
}

func (p Program) serve(ctx context.Context, parts health.Roles, o serveOptions) error {
	// The ballast counts as in use. It is never touched, so it takes address space but no memory.
	ballast := make([]byte, headroom())
	defer runtime.KeepAlive(ballast)
	settings, log, err := p.settings(ctx)
	if err != nil {
		return err
	}
	defer ignoreHangups(ctx, log)()
	lock, err := lockDataDir(settings, parts)
	if err != nil {
		return err
	}
	if lock != nil {
		defer func() { _ = lock.Unlock() }() // The kernel drops it anyway.
	}
	if settings, err = withSecretKey(settings); err != nil {
		return err
	}
	if settings.SecretKey == "" {
		return &config.UsageError{Reason: missingSecretKey}
	}
	settings.DatabaseURL = nameConnections(settings.DatabaseURL, parts)
	b, err := awaitBackend(ctx, log, func(ctx context.Context) (*backend, error) { return o.open(ctx, settings, log) })
	if ctx.Err() != nil && b == nil {
		return nil // It was stopped while it waited.
	}
	if err != nil {
		return config.WithHint(err)
	}
	if err := limitMemory(ctx, b, settings.DBMaxConns); err != nil {
		return errors.Join(err, b.close(ctx))
	}
	err = p.serveOn(ctx, settings, b, parts, o.demo)
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		err = nil // It was stopped before it had started.
	}
	return errors.Join(err, b.close(ctx))
}

// logFailure writes why the service has not started into its log if that is JSON, because a program reads it then. A
// person is told as by every other command.
func (p Program) logFailure(ctx context.Context, err error) error {
	if err == nil || isPrinted(err) || p.environ("SV_LOG_FORMAT") != "json" {
		return err
	}
	newLog(config.Settings{LogFormat: "json"}, p.Stderr).ErrorContext(ctx, "not started",
		"error", explainError(err), "exit_code", exitCode(err), "version", p.Version)
	return &cli.ExitError{Code: exitCode(err)}
}

// nameConnections has PostgreSQL list the connections of the process by its role, unless the URL names them otherwise.
func nameConnections(address config.Secret, parts health.Roles) config.Secret {
	const parameter = "application_name="
	if !strings.Contains(string(address), "://") || strings.Contains(string(address), parameter) {
		return address
	}
	separator := config.Secret("?")
	if strings.Contains(string(address), "?") {
		separator = "&"
	}
	return address + separator + parameter + "simplevalidations-" + config.Secret(parts.String())
}

// lockDataDir refuses a second server on one data directory: two in-process Redis would be two queues.
func lockDataDir(settings config.Settings, parts health.Roles) (*embedded.Lock, error) {
	if settings.DatabaseURL != "" && settings.RedisURL != "" {
		return nil, nil //nolint:nilnil // with both servers outside there is nothing to guard
	}
	if !parts.IsAll() {
		return nil, &config.UsageError{
			Reason: "--only needs DATABASE_URL and REDIS_URL: separate processes must share both",
		}
	}
	lock, err := embedded.LockDir(settings.DataDir, "serve")
	if errors.Is(err, embedded.ErrLocked) {
		return nil, &config.UsageError{Reason: "another simplevalidations serve uses the data directory " +
			settings.DataDir + "; stop it, set SV_DATA_DIR, or set DATABASE_URL and REDIS_URL to run several"}
	}
	if err != nil {
		return nil, fmt.Errorf("lock the data directory (SV_DATA_DIR names another): %w", err)
	}
	return lock, nil
}

func (p Program) serveOn(
	ctx context.Context, settings config.Settings, b *backend, parts health.Roles, demo bool,
) error {
	queue, stop, err := openRedis(ctx, settings, b.log)
	if err != nil {
		return err
	}
	defer stop()
	tasks.LogRedisClient(b.log)
	client := queue.Client()
	defer func() { _ = client.Close() }() // Nothing is lost with it: the database has all that matters.
	if settings.RedisURL != "" {
		if err := checkRedis(ctx, client, b.log); err != nil {
			return err
		}
	}
	project, err := config.NewProject(ctx, settings, p.Version, b.db, client, b.log)
	if err != nil {
		return err
	}
	// Under a limit of the processor time more threads would only use it up sooner, and the kernel would stop them all.
	if cpus := runtime.GOMAXPROCS(0); parts.Plays(health.Worker) && cpus == runtime.NumCPU() {
		// The project has counted the CPUs before.
		runtime.GOMAXPROCS(execution.Processors(cpus))
		defer runtime.GOMAXPROCS(cpus)
	}
	ready := func() error { return nil }
	if demo {
		seeded, err := project.SeedDemo(ctx, false)
		if err != nil {
			return err
		}
		ready = func() error { return seeded.Print(p.Stdout) }
	}
	process := config.Process{Parts: parts, Queue: queue, Client: client, Ready: ready}
	if b.private != nil && b.private.Owned() {
		process.Watch = func(ctx context.Context) error { return watch(ctx, b.private) }
	}
	return project.Run(ctx, process)
}

// openRedis starts a Redis inside this process if the settings name none.
func openRedis(ctx context.Context, settings config.Settings, log *slog.Logger) (tasks.Redis, func(), error) {
	if settings.RedisURL != "" {
		queue, err := tasks.ParseRedisURL(string(settings.RedisURL))
		return queue, func() {}, err
	}
	private, err := embedded.StartRedis(ctx, tasks.ScriptsInGo(), log)
	if err != nil {
		return tasks.Redis{}, nil, err
	}
	return tasks.InProcess(private.Dial), private.Stop, nil
}

// redisCheckTimeout bounds how long a Redis that takes connections and does not answer delays the start.
const redisCheckTimeout = 3 * time.Second

// checkRedis refuses a Redis that evicts keys. One that is away is no reason not to start: runs are accepted without
// it, and executed once it is there.
func checkRedis(ctx context.Context, client redis.UniversalClient, log *slog.Logger) error {
	ctx, cancel := context.WithTimeout(ctx, redisCheckTimeout)
	defer cancel()
	err := tasks.CheckEviction(ctx, client, log)
	if errors.Is(err, tasks.ErrEvicts) {
		return &config.UsageError{Reason: err.Error()}
	}
	if err != nil {
		log.WarnContext(ctx, "Redis is unreachable", "error", err)
	}
	return nil
}

func watch(ctx context.Context, private *embedded.Postgres) error {
	select {
	case <-ctx.Done():
		return nil
	case <-private.Done():
		return errPostgresEnded
	}
}
