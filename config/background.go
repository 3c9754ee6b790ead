package config

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/simplevalidations/simplevalidations/config/archive"
	"github.com/simplevalidations/simplevalidations/config/health"
	"github.com/simplevalidations/simplevalidations/core/idempotency/admin"
	"github.com/simplevalidations/simplevalidations/core/jobs"
	"github.com/simplevalidations/simplevalidations/core/metrics"
	"github.com/simplevalidations/simplevalidations/core/requestlog"
	"github.com/simplevalidations/simplevalidations/tasks"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/progress"
	"github.com/simplevalidations/simplevalidations/validations/webhooks"
)

const (
	// enqueuePause gathers the jobs of several starts in one batch. It delays no job that comes alone, and others by no
	// more than this.
	enqueuePause = 10 * time.Millisecond
	// jobSlack is what a run may take beyond its time limit: it waits for a place, and its last step has a grace.
	jobSlack         = time.Hour
	activityInterval = 3 * time.Second
	// requestLogInterval makes the limit of the request log one for each second.
	requestLogInterval = time.Second
	// lastFlushLimit bounds how long a process that ends waits for a database that may be away.
	lastFlushLimit   = 2 * time.Second
	uploadsInterval  = time.Minute
	mailsInterval    = 15 * time.Second
	lastUseInterval  = 10 * time.Second
	workerGraceShare = 2
)

// PurgeBatch bounds what one statement of a purge deletes.
const PurgeBatch = 200

// startBackground starts the worker, the scheduler and the loops of the process's parts. The loops need no leader: any
// number of processes may run each.
func (p *Project) startBackground(
	ctx context.Context, group *errgroup.Group, process Process, heart *tasks.Heartbeat,
) error {
	parts := process.Parts
	calendar, err := tasks.NewCalendar(p.db, p.periodic(), p.log)
	if err != nil {
		return err
	}
	for _, loop := range p.loops(parts, process.Client) {
		loop = heart.Follow(loop)
		group.Go(func() error { return loop.Run(ctx, p.log) })
	}
	if parts.Plays(health.Web) {
		context.AfterFunc(ctx, p.waiters.Close)
	}
	if parts.Plays(health.Web) && parts.Plays(health.Worker) {
		p.local.Open()
		group.Go(func() error { return p.local.Run(ctx) })
	}
	if parts.Plays(health.Worker) {
		worker := tasks.NewWorker(process.Queue, tasks.WorkerConfig{
			Concurrency: p.settings.Workers, Grace: p.settings.ShutdownGrace / workerGraceShare,
		}, p.log)
		p.handle(worker.Handle)
		worker.HandlePeriodic(calendar)
		group.Go(func() error { return worker.Run(ctx) })
		group.Go(func() error { return p.deliverer.Run(ctx) })
	}
	if parts.Plays(health.Scheduler) {
		scheduler := tasks.NewScheduler(process.Queue, calendar, p.log)
		group.Go(func() error { return scheduler.Run(ctx) })
	}
	return nil
}

// handle registers the job handlers of every app that has some.
func (p *Project) handle(register func(jobs.Kind, jobs.Handler)) {
	p.executor.Tasks(register)
	p.userService.Tasks(register)
	register(webhooks.JobDeliver, p.deliverer.Handle)
}

// periodic is the work that is due by the calendar.
func (p *Project) periodic() []tasks.Periodic {
	all := []tasks.Periodic{
		{Name: "idempotency.purge", Run: func(ctx context.Context) (int64, error) {
			n, err := admin.Purge(ctx, p.db, PurgeBatch)
			p.metrics.Purges.Deleted(metrics.KindKey, n)
			return n, err
		}},
		{Name: "runs.purge", Run: func(ctx context.Context) (int64, error) {
			purged, err := p.runService.Purge(ctx, p.settings.Retention())
			p.metrics.Purges.Deleted(metrics.KindDocument, purged.Contents)
			p.metrics.Purges.Deleted(metrics.KindFindings, purged.Findings)
			return purged.Contents + purged.Findings, err
		}},
		{Name: "sessions.purge", Run: p.userService.SignIn.PurgeSessions},
		{Name: "invitations.purge", Run: p.userService.PurgeInvitations},
		{Name: "sign_ins.purge", Run: p.userService.SignIn.PurgeSignIns},
		{Name: "organizations.purge", Run: func(ctx context.Context) (int64, error) {
			return archive.PurgeDeleted(ctx, p.db)
		}},
		{Name: "events.purge", Run: func(ctx context.Context) (int64, error) {
			return webhooks.Purge(ctx, p.db, PurgeBatch)
		}},
		{Name: "requests.purge", Run: func(ctx context.Context) (int64, error) {
			n, err := p.purgeRequests(ctx)
			p.metrics.Purges.Deleted(metrics.KindRequest, n)
			return n, err
		}},
	}
	if p.store != nil {
		all = append(all, tasks.Periodic{Name: "objects.sweep", Run: func(ctx context.Context) (int64, error) {
			return p.store.Sweep(ctx, p.db)
		}})
	}
	for i := range all {
		all[i].Spec = p.settings.PurgeSchedule
	}
	return all
}

// Retention is how long documents and findings are kept unless an organization has a period of its own.
func (s Settings) Retention() validations.Retention {
	return validations.Retention{Content: s.ContentRetention, Findings: s.FindingsRetention}
}

// loops lists the loops of the parts. Every process enqueues, so that what it stages leaves it at once, and learns of
// the ends of runs.
func (p *Project) loops(parts health.Roles, client redis.UniversalClient) []tasks.Loop {
	loops := []tasks.Loop{{
		Name: health.LoopEnqueuer, Interval: p.settings.EnqueueInterval, Wake: p.staged.Ready(), Pause: enqueuePause,
		RunOnce: tasks.NewEnqueuer(p.db, client, tasks.EnqueuerConfig{
			Slots: tasks.NewSlots(client).Count, JobTimeout: p.settings.RunTimeout + jobSlack,
		}, p.staged, p.log).RunOnce,
	}, {
		// Requests wait for runs, and runs that are executed here for their cancellation elsewhere.
		Name: health.LoopWaiters, Interval: progress.WaitInterval, RunOnce: p.waiters.RunOnce,
	}}
	if parts.Plays(health.Worker) || parts.Plays(health.Scheduler) {
		loops = append(loops, tasks.Loop{
			Name: health.LoopSweeper, Interval: p.settings.SweepInterval, RunOnce: p.executor.Sweep,
		}, tasks.Loop{
			Name: health.LoopUploads, Interval: uploadsInterval, RunOnce: p.runService.SweepUploads,
		}, tasks.Loop{
			Name: health.LoopMails, Interval: mailsInterval, RunOnce: p.userService.Mails.SweepMails,
		}, tasks.Loop{
			Name: health.LoopPublisher, Interval: p.settings.PublishInterval,
			RunOnce: p.publisher.RunOnce,
		}, tasks.Loop{
			Name: health.LoopCompleter, Interval: p.settings.CompleteInterval, RunOnce: p.completer.RunOnce,
		})
	}
	if parts.Plays(health.Web) {
		loops = append(loops, tasks.Loop{
			Name: health.LoopActivity, Interval: activityInterval,
			RunOnce: func(ctx context.Context) (int, error) { return p.activity.Flush(ctx, p.db) },
		}, tasks.Loop{
			Name: health.LoopRequests, Interval: requestLogInterval, RunOnce: p.requestLog.Flush,
		}, tasks.Loop{
			Name: health.LoopLastUse, Interval: lastUseInterval, RunOnce: p.userService.Access.FlushLastUse,
		})
	}
	return loops
}

// flushLast writes the counts since the last pass of the loop, once nothing counts any more.
func (p *Project) flushLast(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastFlushLimit)
	defer cancel()
	if _, err := p.activity.Flush(ctx, p.db); err != nil {
		p.log.WarnContext(ctx, "the last counts are lost", "error", err)
	}
	if _, err := p.requestLog.Flush(ctx); err != nil {
		p.log.WarnContext(ctx, "the last requests are not logged", "error", err)
	}
}

// flushTraces sends the last spans of a process that ends.
func (p *Project) flushTraces(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastFlushLimit)
	defer cancel()
	if err := p.tracer.Close(ctx); err != nil {
		p.log.WarnContext(ctx, "the last traces are lost", "error", err)
	}
}

// purgeRequests deletes requests from the log that are past their retention.
func (p *Project) purgeRequests(ctx context.Context) (int64, error) {
	return requestlog.Purge(ctx, p.db, requestlog.Limits{
		Age: p.settings.RequestLogRetention, Count: requestlog.MaxKept, Batch: PurgeBatch,
	})
}

// heartbeat makes the heartbeat of this process.
func (p *Project) heartbeat(parts health.Roles) (*tasks.Heartbeat, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("ask for the name of this machine: %w", err)
	}
	return tasks.NewHeartbeat(p.db, tasks.Process{
		Host: host, PID: os.Getpid(), Version: p.version, Parts: parts.Names(),
	})
}
