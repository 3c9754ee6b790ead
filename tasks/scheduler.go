package tasks

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/hibiken/asynq"
)

// Scheduler puts periodic work into the queue when it is due. Any number may run at once.
type Scheduler struct {
	redis    asynq.RedisConnOpt
	calendar *Calendar
	log      *slog.Logger
}

// NewScheduler makes a Scheduler for the work of the calendar.
func NewScheduler(redis asynq.RedisConnOpt, calendar *Calendar, log *slog.Logger) *Scheduler {
	return &Scheduler{redis: redis, calendar: calendar, log: log}
}

// Run schedules until ctx ends. Work that falls due while Redis is unreachable is left to the next activation.
func (s *Scheduler) Run(ctx context.Context) error {
	scheduler := asynq.NewScheduler(s.redis, &asynq.SchedulerOpts{
		Location: time.UTC,
		Logger:   queueLog{log: s.log},
		LogLevel: asynq.ErrorLevel,
		PostEnqueueFunc: func(_ *asynq.TaskInfo, err error) {
			if err != nil {
				s.log.ErrorContext(ctx, "periodic work was not queued", "error", err)
			}
		},
	})
	for name, work := range s.calendar.entries {
		if _, err := scheduler.Register(work.Spec, encodePeriodic(name)); err != nil {
			return fmt.Errorf("schedule periodic work %s: %w", name, err)
		}
	}
	if err := scheduler.Start(); err != nil {
		return fmt.Errorf("start the scheduler: %w", err)
	}
	<-ctx.Done()
	scheduler.Shutdown()
	return nil
}
