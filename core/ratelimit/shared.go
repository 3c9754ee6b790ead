package ratelimit

import (
	"context"
	"log/slog"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"golang.org/x/time/rate"
)

const (
	// sharedTimeout is all that a request waits for Redis.
	sharedTimeout = 20 * time.Millisecond
	// complainEvery bounds how often trouble is logged.
	complainEvery = 10 * time.Second
)

// Shared limits how often each organization may do something, counted in Redis for all processes together.
type Shared struct {
	limiter    *redis_rate.Limiter
	limit      redis_rate.Limit
	log        *slog.Logger
	complaints *rate.Limiter
}

// NewShared makes a Shared that allows each organization perMinute, all at once or spread. With perMinute 0 it is off
// and never speaks to Redis. The client must honor the deadlines of contexts (ContextTimeoutEnabled).
func NewShared(client redis.UniversalClient, perMinute int, log *slog.Logger) *Shared {
	return &Shared{
		limiter:    redis_rate.NewLimiter(client),
		limit:      redis_rate.PerMinute(perMinute),
		log:        log,
		complaints: rate.NewLimiter(rate.Every(complainEvery), 1),
	}
}

// Allow counts one use by the organization. When that is too many it is not counted, and the duration says when the
// next one will be allowed. When Redis does not answer in time the use is allowed.
func (s *Shared) Allow(ctx context.Context, orgID uuid.UUID) (bool, time.Duration) {
	if s.limit.Rate <= 0 {
		return true, 0
	}
	limited, cancel := context.WithTimeout(ctx, sharedTimeout)
	defer cancel()
	result, err := s.limiter.Allow(limited, orgID.String(), s.limit)
	if err != nil {
		// A caller that has gone says nothing about Redis.
		if ctx.Err() == nil && s.complaints.Allow() {
			s.log.WarnContext(ctx, "the shared rate limit is not enforced", "error", err)
		}
		return true, 0
	}
	if result.Allowed > 0 {
		return true, 0
	}
	return false, result.RetryAfter
}
