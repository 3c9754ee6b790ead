package idempotency

import (
	"context"
	"fmt"
	"time"

	"github.com/simplevalidations/simplevalidations/core"
)

// Census counts the keys of all organizations.
type Census struct {
	ByState map[State]int64
	// OldestUnfinished is how old the oldest key is whose request has not ended, those left to people not counted.
	OldestUnfinished time.Duration
}

// censusLimit bounds how many unfinished keys are counted.
const censusLimit = 10_000

// Census counts unfinished keys, of which there are few, up to a limit. The others are as many as the planner's
// statistics say, the expired ones among them: to count millions would take longer than anybody waits for a number.
func (i *Inspector) Census(ctx context.Context) (Census, error) {
	var held, abandoned, dead, all int64
	var oldest float64
	err := i.db.Pool.QueryRow(ctx, `
		SELECT count(*) FILTER (WHERE locked_until > now()),
			count(*) FILTER (WHERE locked_until <= now() AND attempts < $1),
			count(*) FILTER (WHERE locked_until <= now() AND attempts >= $1),
			coalesce(extract(epoch FROM now() - min(created_at)
				FILTER (WHERE locked_until > now() OR attempts < $1)), 0)::float8,
			(SELECT reltuples::bigint FROM pg_class WHERE oid = 'idempotency_keys'::regclass)
		FROM (SELECT locked_until, attempts, created_at FROM idempotency_keys
			WHERE recovery_point <> 'finished' ORDER BY locked_until LIMIT $2) AS unfinished`,
		i.maxAttempts, censusLimit).Scan(&held, &abandoned, &dead, &oldest, &all)
	if err != nil {
		return Census{}, fmt.Errorf("count keys: %w", err)
	}
	return Census{
		ByState: map[State]int64{
			StateInProgress: held, StateAbandoned: abandoned, StateDead: dead,
			StateFinished: max(all-held-abandoned-dead, 0),
		},
		OldestUnfinished: core.Seconds(oldest),
	}, nil
}
