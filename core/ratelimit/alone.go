package ratelimit

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
)

// Alone is Shared for a process that has no others beside it. It counts in memory, because a script in the Redis of the
// same process would cost a start more than the rest of its checks.
type Alone struct {
	*Local
}

// NewAlone makes an Alone that allows each organization perMinute, all at once or spread. With 0 it is off.
func NewAlone(name string, perMinute int) Alone {
	return Alone{NewLocal(name, float64(perMinute)/time.Minute.Seconds(), perMinute)}
}

// Allow counts one use by the organization. When that is too many it is not counted.
func (a Alone) Allow(_ context.Context, orgID uuid.UUID) core.Allowance { return a.Local.Allow(orgID) }
