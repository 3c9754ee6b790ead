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

	"github.com/simplevalidations/simplevalidations/core/share"
)

// inFlight counts the tasks in the queue of jobs: those that wait for a worker, and those that a worker executes.
type inFlight struct {
	// waiting counts the tasks that no worker has taken yet.
	waiting int
	// finished counts the tasks that the workers are done with.
	finished int64
	// held counts the tasks of each organization, waiting or executed. It is read anew for each turn, because other
	// processes add to the queue too.
	held share.Held[uuid.UUID, int]
}

// room is how many tasks may be handed over now, so many of them ahead of the free slots. Nothing waits in the queue
// for long, because tasks in it are executed in the order of their arrival, whatever comes later: the backlog stays in
// the database, where the enqueuer can choose.
func (f inFlight) room(slots, ahead int) int {
	executed := f.held.All() - f.waiting
	return max(0, ahead+max(0, slots-executed)-f.waiting)
}

// lastServed is the last of the organizations that got a share. The next turn begins behind it.
func lastServed(orgs []uuid.UUID, shares []int) uuid.UUID {
	for i := len(orgs) - 1; i > 0; i-- {
		if shares[i] > 0 {
			return orgs[i]
		}
	}
	return orgs[0]
}

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
	found := inFlight{waiting: int(length.Val())}
	found.finished, _ = finished.Int64()
	for _, list := range [][]string{waiting.Val(), executed.Val()} {
		for _, id := range list {
			if org, ok := OrganizationOf(id); ok {
				found.held.Add(org, 1)
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

const (
	// aheadFor is how long a task may wait in the queue behind others: as many tasks as workers finish in that time are
	// handed over before there are slots for them, so that workers never wait for the enqueuer.
	aheadFor = 50 * time.Millisecond
	// paceOver is the least time that the pace is measured over.
	paceOver = 20 * time.Millisecond
	// paceLasts is how long the pace of the past counts beside that of now.
	paceLasts = time.Second
)

// pace measures how many tasks the workers finish.
type pace struct {
	finished  int64
	at        time.Time
	perSecond float64
}

// note records how many tasks the workers have finished so far.
func (p *pace) note(finished int64, now time.Time) {
	elapsed := now.Sub(p.at)
	switch {
	case p.at.IsZero() || finished < p.finished:
		// This is the first look, or Redis has lost its data.
		p.perSecond = 0
	case elapsed < paceOver:
		return
	default:
		p.perSecond += (float64(finished-p.finished)/elapsed.Seconds() - p.perSecond) *
			min(1, 0.5+elapsed.Seconds()/paceLasts.Seconds())
	}
	p.finished, p.at = finished, now
}

// ahead is how many tasks may wait in the queue. One always does, or a single slot would be empty between two tasks.
func (p *pace) ahead() int {
	return max(1, int(p.perSecond*aheadFor.Seconds()))
}
