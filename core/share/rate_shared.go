package share

import (
	"context"
	"log/slog"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"golang.org/x/time/rate"

	"github.com/simplevalidations/simplevalidations/core"
)

// complainEvery is the least time between two log lines about a Redis that does not answer.
const complainEvery = 10 * time.Second

// SharedRate is LocalRate for organizations, counted in Redis for all processes together. A limit that cannot be
// checked is not enforced.
type SharedRate struct {
	name       string
	limiter    *redis_rate.Limiter
	limit      redis_rate.Limit
	timeout    time.Duration
	log        *slog.Logger
	complaints *rate.Limiter
}

// NewSharedRate makes a SharedRate that allows each organization perMinute, all at once or spread, and waits for Redis
// until the timeout. With perMinute 0 it is off and never speaks to Redis. The client must honor the deadlines of
// contexts (ContextTimeoutEnabled).
func NewSharedRate(
	client redis.UniversalClient, name string, perMinute int, timeout time.Duration, log *slog.Logger,
) *SharedRate {
	return &SharedRate{
		name:       name,
		limiter:    redis_rate.NewLimiter(client),
		limit:      redis_rate.PerMinute(perMinute),
		timeout:    timeout,
		log:        log,
		complaints: rate.NewLimiter(rate.Every(complainEvery), 1),
	}
}

// Allow counts one use by the organization. When that is too many it is not counted. When Redis does not answer in time
// the use is allowed.
func (s *SharedRate) Allow(ctx context.Context, orgID uuid.UUID) core.Allowance {
	if s.limit.Rate <= 0 {
		return core.Allowance{}
	}
	limited, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	result, err := s.limiter.Allow(limited, orgID.String(), s.limit)
	if err != nil {
		// A caller that has gone says nothing about Redis.
		if ctx.Err() == nil && s.complaints.Allow() {
			s.log.WarnContext(ctx, "the shared rate limit is not enforced", "error", err)
		}
		return core.Allowance{}
	}
	return core.Allowance{
		// It is -1 for a use that is allowed.
		Wait:      max(result.RetryAfter, 0),
		Policy:    core.RatePolicy{Name: s.name, Quota: s.limit.Rate, Window: s.limit.Period},
		Remaining: result.Remaining, Reset: result.ResetAfter,
	}
}
