package config

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/simplevalidations/simplevalidations/core/embedded"
	"github.com/simplevalidations/simplevalidations/tasks"
	"github.com/simplevalidations/simplevalidations/validations/execution"
)

// role is the part of the service that a process plays.
type role string

const (
	roleAll       role = ""
	roleWeb       role = "web"
	roleWorker    role = "worker"
	roleScheduler role = "scheduler"
)

func (r role) plays(part role) bool {
	return r == roleAll || r == part
}

// errPostgresEnded means that the private PostgreSQL has died under the service.
var errPostgresEnded = errors.New("the private PostgreSQL has ended")

func (p Program) serveCommand() *cobra.Command {
	var only string
	var demo bool
	command := &cobra.Command{
		Use:   "serve",
		Short: "Run the service: web server, worker, scheduler and loops",
		Long: "Run the service. Without DATABASE_URL a private PostgreSQL is started in SV_DATA_DIR, and without\n" +
			"REDIS_URL a Redis inside the process.",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch role(only) {
			case roleAll, roleWeb, roleWorker, roleScheduler:
				return p.serve(cmd.Context(), role(only), demo)
			default:
				return &UsageError{Reason: "--only is web, worker or scheduler, not " + only}
			}
		},
	}
	command.Flags().StringVar(&only, "only", "", "run one part: web, worker or scheduler")
	command.Flags().BoolVar(&demo, "demo", false, "seed the demonstration and print how to use it")
	return command
}

// headroom is how far the heap grows between two garbage collections, beyond what is in use. Go collects when the heap
// has doubled, so a service with a small heap would collect many times a second. GOGC cannot say this: a
// higher percentage would multiply the memory of large documents, too. GOMEMLIMIT depends on the machine, and is left
// to operators.
const headroom = 32 << 20

func (p Program) serve(ctx context.Context, part role, demo bool) error {
	// The ballast counts as in use. It is never touched, so it takes address space but no memory.
	ballast := make([]byte, headroom)
	defer runtime.KeepAlive(ballast)
	settings, log, err := p.settings(ctx)
	if err != nil {
		return err
	}
	limitMemory(log)
	lock, err := lockDataDir(settings, part)
	if err != nil {
		return err
	}
	if lock != nil {
		defer func() { _ = lock.Unlock() }() // The kernel drops it anyway.
	}
	if settings, err = settings.withSecretKey(); err != nil {
		return err
	}
	if settings.SecretKey == "" {
		return &UsageError{Reason: missingSecretKey}
	}
	b, err := openMigrated(ctx, settings, log)
	if err != nil {
		return err
	}
	return errors.Join(p.serveOn(ctx, settings, b, part, demo), b.close(ctx))
}

// lockDataDir refuses a second server on one data directory: two in-process Redis would be two queues.
func lockDataDir(settings Settings, part role) (*embedded.Lock, error) {
	if !settings.embedded() {
		return nil, nil //nolint:nilnil // with both servers outside there is nothing to guard
	}
	if part != roleAll {
		return nil, &UsageError{Reason: "--only needs DATABASE_URL and REDIS_URL: separate processes must share both"}
	}
	lock, err := embedded.LockDir(settings.DataDir, "serve")
	if errors.Is(err, embedded.ErrLocked) {
		return nil, &UsageError{Reason: "another simplevalidations serve uses the data directory " + settings.DataDir +
			"; stop it, set SV_DATA_DIR, or set DATABASE_URL and REDIS_URL to run several"}
	}
	if err != nil {
		return nil, fmt.Errorf("lock the data directory: %w", err)
	}
	return lock, nil
}

func (p Program) serveOn(ctx context.Context, settings Settings, b *backend, part role, demo bool) error {
	address := string(settings.RedisURL)
	if address == "" {
		private, err := embedded.StartRedis(ctx, b.log)
		if err != nil {
			return fmt.Errorf("start the in-process Redis: %w", err)
		}
		defer private.Stop()
		address = private.URL()
	}
	queue, err := tasks.ParseRedisURL(address)
	if err != nil {
		return err
	}
	tasks.LogRedisClient(b.log)
	client := queue.Client()
	defer func() { _ = client.Close() }() // Nothing is lost with it: the database has all that matters.
	if settings.RedisURL != "" {
		if err := checkRedis(ctx, client, b.log); err != nil {
			return err
		}
	}
	project, err := NewProject(settings, p.Version, b.db, client, b.log)
	if err != nil {
		return err
	}
	if err := checkSecretKey(ctx, b.db, settings); err != nil {
		return err
	}
	// Under a limit of the processor time more threads would only use it up sooner, and the kernel would stop them all.
	if cpus := runtime.GOMAXPROCS(0); part.plays(roleWorker) && cpus == runtime.NumCPU() {
		// The project has counted the CPUs before.
		runtime.GOMAXPROCS(execution.Processors(cpus))
		defer runtime.GOMAXPROCS(cpus)
	}
	ready := func() error { return nil }
	if demo {
		seeded, err := project.seedDemo(ctx)
		if err != nil {
			return err
		}
		ready = func() error { return printDemo(p.Stdout, seeded) }
	}
	return runParts(ctx, process{
		project: project, part: part, queue: queue, client: client, backend: b, ready: ready,
	})
}

// process is what a process runs on, and which part of the service it plays.
type process struct {
	project *Project
	part    role
	queue   tasks.Redis
	client  redis.UniversalClient
	backend *backend
	// ready is called once requests are accepted.
	ready func() error
}

// checkRedis refuses a Redis that evicts keys. One that is away is no reason not to start: runs are accepted without
// it, and executed once it is there.
func checkRedis(ctx context.Context, client redis.UniversalClient, log *slog.Logger) error {
	err := tasks.CheckEviction(ctx, client, log)
	if errors.Is(err, tasks.ErrEvicts) {
		return &UsageError{Reason: err.Error()}
	}
	if err != nil {
		log.WarnContext(ctx, "Redis is unreachable", "error", err)
	}
	return nil
}

// runParts runs the process's parts until ctx ends or one of them fails.
func runParts(ctx context.Context, p process) error {
	// What has been started ends also when the rest cannot be started.
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	group, ctx := errgroup.WithContext(ctx)
	if private := p.backend.private; private != nil && private.Owned() {
		group.Go(func() error { return watch(ctx, private) })
	}
	if err := startParts(ctx, group, p); err != nil {
		stop()
		return errors.Join(err, group.Wait())
	}
	err := group.Wait()
	p.project.flushLast(ctx)
	return err
}

func startParts(ctx context.Context, group *errgroup.Group, p process) error {
	heart, err := p.project.heartbeat(p.part)
	if err != nil {
		return err
	}
	if p.part.plays(roleWeb) {
		if err := startWeb(ctx, group, p.project); err != nil {
			return err
		}
	}
	if err := startMetrics(ctx, group, p.project, heart); err != nil {
		return err
	}
	if err := startBackground(ctx, group, p, heart); err != nil {
		return err
	}
	group.Go(func() error { return heart.Run(ctx, p.project.log) })
	return p.ready()
}

func startWeb(ctx context.Context, group *errgroup.Group, project *Project) error {
	router, err := NewRouter(project) //nolint:contextcheck // a handler has the context of its request
	if err != nil {
		return err
	}
	listener, err := Listen(ctx, project.settings.Addr)
	if err != nil {
		return fmt.Errorf("serve (SV_ADDR sets another address): %w", err)
	}
	project.log.InfoContext(ctx, "listening", "url", project.settings.Address())
	group.Go(func() error { return ServeWeb(ctx, listener, router, project.settings, project.log) })
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
