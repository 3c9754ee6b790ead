package tasks

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
)

const (
	// freshLease tells a task that is executed from one whose worker has died: a worker extends the leases of its
	// tasks, which last for 30 seconds, every 5 seconds.
	freshLease = 15 * time.Second
	// slotsLifetime is how long the number of slots is remembered.
	slotsLifetime = 2 * time.Second
	// fewSlots is what the enqueuer counts on while no worker is alive, so that one that starts has work at once.
	fewSlots = 16
	// mostWaiting bounds how much of the queue is looked at.
	mostWaiting = 10_000
)

// readInFlight looks into the queue of jobs.
func readInFlight(ctx context.Context, client redis.UniversalClient) (inFlight, error) {
	const prefix = "asynq:{" + QueueJobs + "}:"
	var length *redis.IntCmd
	var waiting, executed *redis.StringSliceCmd
	var finished *redis.StringCmd
	_, err := client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		length = pipe.LLen(ctx, prefix+"pending")
		waiting = pipe.LRange(ctx, prefix+"pending", 0, mostWaiting-1)
		executed = pipe.ZRangeByScore(ctx, prefix+"lease", &redis.ZRangeBy{
			Min: strconv.FormatInt(time.Now().Add(freshLease).Unix(), 10), Max: "+inf",
		})
		finished = pipe.Get(ctx, prefix+"processed")
		return nil
	})
	// No task has ended before the first one.
	if err != nil && !errors.Is(err, redis.Nil) {
		return inFlight{}, fmt.Errorf("look into the queue: %w", err)
	}
	found := inFlight{waiting: int(length.Val()), byOrg: make(map[uuid.UUID]int)}
	found.finished, _ = finished.Int64()
	for _, list := range [][]string{waiting.Val(), executed.Val()} {
		for _, id := range list {
			if org, ok := OrganizationOf(id); ok {
				found.byOrg[org]++
			}
		}
	}
	return found, nil
}

// Slots counts how many jobs all living workers can execute at once. It remembers the number for a moment.
type Slots struct {
	inspector *asynq.Inspector

	mu      sync.Mutex
	counted int
	at      time.Time
}

// NewSlots makes a Slots. The caller closes the client.
func NewSlots(client redis.UniversalClient) *Slots {
	return &Slots{inspector: asynq.NewInspectorFromRedisClient(client)}
}

// Count returns the number of slots, and a small one where no worker is alive.
func (s *Slots) Count() (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.at) < slotsLifetime {
		return s.counted, nil
	}
	servers, err := s.inspector.Servers()
	if err != nil {
		return 0, fmt.Errorf("count the workers: %w", err)
	}
	total := 0
	for _, server := range servers {
		if _, works := server.Queues[QueueJobs]; works {
			total += server.Concurrency
		}
	}
	s.counted, s.at = max(total, fewSlots), time.Now()
	return s.counted, nil
}
