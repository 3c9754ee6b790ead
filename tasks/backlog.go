package tasks

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
)

// Backlog is what waits in the outbox.
type Backlog struct {
	// Pending jobs wait to be handed to the queue; Parked ones were refused so often that they are left to people.
	Pending, Parked int64
	// Oldest is the age of the oldest pending job.
	Oldest time.Duration
}

// backlogLimit bounds how many staged jobs are looked at. Parked ones are old, so they are among the first.
const backlogLimit = 10_000

// ReadBacklog reads the backlog up to a limit, so that it costs little when there is most of it.
func ReadBacklog(ctx context.Context, database *db.DB) (Backlog, error) {
	var found Backlog
	var oldest float64
	err := database.Pool.QueryRow(ctx, `
		SELECT count(*) FILTER (WHERE attempts < $1), count(*) FILTER (WHERE attempts >= $1),
			coalesce(extract(epoch FROM now() - min(created_at) FILTER (WHERE attempts < $1)), 0)::float8
		FROM (SELECT attempts, created_at FROM staged_jobs ORDER BY id LIMIT $2) AS oldest`,
		maxHandOvers, backlogLimit).Scan(&found.Pending, &found.Parked, &oldest)
	if err != nil {
		return Backlog{}, fmt.Errorf("read the backlog: %w", err)
	}
	found.Oldest = core.Seconds(oldest)
	return found, nil
}

// CountArchived counts the tasks in the queues that have failed for the last time. The queue's own inspector takes no
// context, and measures the memory of the queue as well.
func CountArchived(ctx context.Context, client redis.UniversalClient) (int64, error) {
	var total int64
	for _, queue := range []string{QueueJobs, QueuePeriodic} {
		n, err := client.ZCard(ctx, "asynq:{"+queue+"}:archived").Result()
		if err != nil {
			return 0, fmt.Errorf("count archived tasks: %w", err)
		}
		total += n
	}
	return total, nil
}
