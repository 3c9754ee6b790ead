package idempotency

import (
	"net/netip"
	"time"

	"github.com/google/uuid"
)

// finished is the recovery point of a key whose response is stored.
const finished = "finished"

// Endpoint names a protected operation. Keys of different endpoints never meet.
type Endpoint string

// Response is what a key is answered with, byte for byte.
type Response struct {
	Status  int
	Headers ResponseHeaders
	Body    []byte
}

// ResponseHeaders are the only headers that are stored: they belong to the result, not to the request
// that happened to fetch it.
type ResponseHeaders struct {
	ContentType string `json:"content_type"`
	Location    string `json:"location,omitempty"`
}

// Caller is what is kept of the first request so that people can find it again.
type Caller struct {
	Method    string
	Path      string
	RequestID string
	// IP is the zero Addr when it is not known.
	IP        netip.Addr
	UserAgent string
}

// Claim is a request's wish to be the one use of a key.
type Claim struct {
	// ID becomes the key row's id; the run refers to it.
	ID          uuid.UUID
	OrgID       uuid.UUID
	Endpoint    Endpoint
	Key         string
	Fingerprint Fingerprint
	Caller      Caller
	// Lifetime counts from the claim by the database's clock.
	Lifetime time.Duration
	RunID    uuid.UUID
	Response Response
}

// Record is a key as it is stored, seen at one moment of the database's clock.
type Record struct {
	ID          uuid.UUID
	Fingerprint Fingerprint
	RequestID   string
	RunID       uuid.UUID
	Finished    bool
	Expired     bool
	// LockRest is how long the key stays locked; not positive when it is free.
	LockRest  time.Duration
	ExpiresAt time.Time
	// Response is set when Finished.
	Response Response
}
