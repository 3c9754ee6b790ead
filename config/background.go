package config

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/simplevalidations/simplevalidations/core/idempotency/admin"
	"github.com/simplevalidations/simplevalidations/core/jobs"
	"github.com/simplevalidations/simplevalidations/core/metrics"
	"github.com/simplevalidations/simplevalidations/tasks"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/execution"
)

const (
	// enqueuePause gathers the jobs of several starts in one batch. It delays no job that comes alone, and others by no
	// more than this.
	enqueuePause = 10 * time.Millisecond
	// jobSlack is what a run may take beyond its time limit: it waits for a place, and its last step has a grace.
	jobSlack         = time.Hour
	purgeBatch       = 200
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

// startBackground starts the worker, the scheduler and the loops of the process's parts. The loops need no leader: any
// number of processes may run each.
func startBackground(
	ctx context.Context, group *errgroup.Group, p process, heart *tasks.Heartbeat,
) error {
	project, parts := p.project, p.parts
	calendar, err := tasks.NewCalendar(project.db, project.periodic(), project.log)
	if err != nil {
		return err
	}
	for _, loop := range project.loops(parts, p.client) {
		loop = heart.Follow(loop)
		group.Go(func() error { return loop.Run(ctx, project.log) })
	}
	if parts.plays(roleWeb) {
		context.AfterFunc(ctx, project.waiters.Close)
	}
	if parts.plays(roleWeb) && parts.plays(roleWorker) {
		project.local.Open()
		group.Go(func() error { return project.local.Run(ctx) })
	}
	if parts.plays(roleWorker) {
		worker := tasks.NewWorker(p.queue, tasks.WorkerConfig{
			Concurrency: project.settings.Workers, Grace: project.settings.ShutdownGrace / workerGraceShare,
		}, project.log)
		project.handle(worker.Handle)
		worker.HandlePeriodic(calendar)
		group.Go(func() error { return worker.Run(ctx) })
	}
	if parts.plays(roleScheduler) {
		scheduler := tasks.NewScheduler(p.queue, calendar, project.log)
		group.Go(func() error { return scheduler.Run(ctx) })
	}
	return nil
}

// handle registers the job handlers of every app that has some.
func (p *Project) handle(register func(jobs.Kind, jobs.Handler)) {
	p.executor.Tasks(register)
	p.userService.Tasks(register)
}

// periodic is the work that is due by the calendar.
func (p *Project) periodic() []tasks.Periodic {
	return []tasks.Periodic{{
		Name: "idempotency.purge",
		Spec: p.settings.PurgeSchedule,
		Run: func(ctx context.Context) (int64, error) {
			n, err := admin.Purge(ctx, p.db, purgeBatch)
			p.metrics.Purges.Deleted(metrics.KindKey, n)
			return n, err
		},
	}, {
		Name: "runs.purge",
		Spec: p.settings.PurgeSchedule,
		Run: func(ctx context.Context) (int64, error) {
			purged, err := p.runService.Purge(ctx, p.settings.retention())
			p.metrics.Purges.Deleted(metrics.KindDocument, purged.Contents)
			p.metrics.Purges.Deleted(metrics.KindFindings, purged.Findings)
			return purged.Contents + purged.Findings, err
		},
	}, {
		Name: "sessions.purge",
		Spec: p.settings.PurgeSchedule,
		Run:  p.userService.SignIn.PurgeSessions,
	}, {
		Name: "invitations.purge",
		Spec: p.settings.PurgeSchedule,
		Run:  p.userService.PurgeInvitations,
	}, {
		Name: "sign_ins.purge",
		Spec: p.settings.PurgeSchedule,
		Run:  p.userService.SignIn.PurgeSignIns,
	}, {
		Name: "organizations.purge",
		Spec: p.settings.PurgeSchedule,
		Run:  func(ctx context.Context) (int64, error) { return purgeTenants(ctx, p.db) },
	}, {
		Name: "requests.purge",
		Spec: p.settings.PurgeSchedule,
		Run: func(ctx context.Context) (int64, error) {
			n, err := p.purgeRequests(ctx)
			p.metrics.Purges.Deleted(metrics.KindRequest, n)
			return n, err
		},
	}}
}

// retention is how long documents and findings are kept unless an organization has a period of its own.
func (s Settings) retention() validations.Retention {
	return validations.Retention{Content: s.ContentRetention, Findings: s.FindingsRetention}
}

// loops lists the loops of the parts. Every process enqueues, so that what it stages leaves it at once.
func (p *Project) loops(parts roles, client redis.UniversalClient) []tasks.Loop {
	loops := []tasks.Loop{{
		Name: loopEnqueuer, Interval: p.settings.EnqueueInterval, Wake: p.staged.Ready(), Pause: enqueuePause,
		RunOnce: tasks.NewEnqueuer(p.db, client, tasks.EnqueuerConfig{
			Slots: tasks.NewSlots(client).Count, JobTimeout: p.settings.RunTimeout + jobSlack,
		}, p.staged, p.log).RunOnce,
	}}
	if parts.plays(roleWorker) || parts.plays(roleScheduler) {
		loops = append(loops, tasks.Loop{
			Name: loopSweeper, Interval: p.settings.SweepInterval, RunOnce: p.executor.Sweep,
		}, tasks.Loop{
			Name: loopUploads, Interval: uploadsInterval, RunOnce: p.runService.SweepUploads,
		}, tasks.Loop{
			Name: loopMails, Interval: mailsInterval, RunOnce: p.userService.Mails.SweepMails,
		}, tasks.Loop{
			Name: loopCompleter, Interval: p.settings.CompleteInterval, RunOnce: p.completer.RunOnce,
		})
	}
	if parts.plays(roleWeb) {
		loops = append(loops, tasks.Loop{
			Name: loopWaiters, Interval: execution.WaitInterval, RunOnce: p.waiters.RunOnce,
		}, tasks.Loop{
			Name: loopActivity, Interval: activityInterval,
			RunOnce: func(ctx context.Context) (int, error) { return p.activity.Flush(ctx, p.db) },
		}, tasks.Loop{
			Name: loopRequests, Interval: requestLogInterval, RunOnce: p.requestLog.Flush,
		}, tasks.Loop{
			Name: loopLastUse, Interval: lastUseInterval, RunOnce: p.userService.FlushLastUse,
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
