package idempotency_test

import (
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/idempotency"
)

// discard is a Recorder that records nothing.
type discard struct{}

func (discard) Repeated(uuid.UUID, *idempotency.Record, error) {}
func (discard) Misnamed(uuid.UUID)                             {}
func (discard) Accepted(uuid.UUID, time.Duration)              {}
