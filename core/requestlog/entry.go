package requestlog

import (
	"net/netip"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
)

// Digest is a SHA-256.
type Digest [32]byte

// Entry is a request that was answered.
type Entry struct {
	OrgID uuid.UUID
	// At is when the headers had arrived: by the clock of the process in a Log, by the database's where it was read.
	At     time.Time
	Took   time.Duration
	Method string
	// Path has no query.
	Path string
	// Endpoint is the operation of the request's key; "" for a request that takes none.
	Endpoint idempotency.Endpoint
	Status   int
	// Code is "" for a request that was not refused.
	Code api.Code
	Key  string
	// TokenID is the zero UUID for a visitor of the dashboard.
	TokenID   uuid.UUID
	Address   netip.Addr
	RequestID string
	// OriginalRequestID is the first request of the key, where this one repeats it.
	OriginalRequestID string
	// Replayed says that the answer is that of the first request. A repetition that is neither replayed nor refused has
	// continued the first request.
	Replayed bool
	RunID    uuid.UUID
	Headers  []api.LoggedHeader
	// BodySize is how many bytes of the body were read.
	BodySize int64
	// BodyDigest is nil where the body is large or was not read to its end.
	BodyDigest *Digest
	Problem    *api.Problem
}

// starts are the operations that start runs.
func starts() []idempotency.Endpoint { return []idempotency.Endpoint{"workflow_start", "run_rerun"} }
