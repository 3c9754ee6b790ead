package validations

import (
	"context"
	"fmt"
	"time"

	"github.com/simplevalidations/simplevalidations/core"
)

// workloadLimit bounds how many unfinished runs are counted.
const workloadLimit = 10_000

// Workload counts the unfinished runs of all organizations, up to 10,000 of them.
type Workload struct {
	// Pending runs wait for a worker, the oldest of them since OldestPending.
	Pending       int64
	OldestPending time.Duration
	// Executing runs have a living worker.
	Executing int64
}

// Workload reads how much there is to do.
func (s *Service) Workload(ctx context.Context) (Workload, error) {
	var found Workload
	var oldest float64
	err := s.db.Pool.QueryRow(ctx, `
		SELECT count(*) FILTER (WHERE state = 'PENDING'), count(*) FILTER (WHERE lease_until > now()),
			coalesce(extract(epoch FROM now() - min(created_at) FILTER (WHERE state = 'PENDING')), 0)::float8
		FROM (
			SELECT state, created_at, lease_until FROM validation_runs
			WHERE sweep_after < 'infinity' ORDER BY sweep_after LIMIT $1
		) AS unfinished`, workloadLimit).Scan(&found.Pending, &found.Executing, &oldest)
	if err != nil {
		return Workload{}, fmt.Errorf("count the unfinished runs: %w", err)
	}
	found.OldestPending = core.Seconds(oldest)
	return found, nil
}
