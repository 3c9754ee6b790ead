package idempotency

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"time"

	"github.com/google/uuid"
)

// Point is a recovery point: a name for what a request has durably done. Each endpoint has its own points, and every
// request ends in PointFinished.
type Point string

// PointFinished is the recovery point of a key whose response is stored.
const PointFinished Point = "finished"

// FirstEpoch is the epoch that a key is claimed with. Every takeover adds one.
const FirstEpoch = 1

// Endpoint names a protected operation. Keys of different endpoints never meet.
type Endpoint string

// Operations names the endpoints for people. Each app names its own.
type Operations map[Endpoint]Words

// Words are what people call an endpoint and its target.
type Words struct {
	// Title says what the endpoint does, such as "Add a member".
	Title string
	// Target is the noun for what the endpoint acts upon, such as "workflow". It is part of the API: a refusal names it
	// where a key was used for another target.
	Target string
}

// Title returns what people call the endpoint, or the endpoint itself where it has no title.
func (o Operations) Title(endpoint Endpoint) string {
	if words := o[endpoint]; words.Title != "" {
		return words.Title
	}
	return string(endpoint)
}

// Target returns the noun for what the endpoint acts upon.
func (o Operations) Target(endpoint Endpoint) string {
	if words := o[endpoint]; words.Target != "" {
		return words.Target
	}
	return "target"
}

// Response is what a key is answered with, byte for byte.
type Response struct {
	Status  int
	Headers ResponseHeaders
	Body    []byte
}

// JSONResponse renders a body as JSON.
func JSONResponse(status int, body any) (Response, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return Response{}, fmt.Errorf("render a response: %w", err)
	}
	return Response{Status: status, Headers: ResponseHeaders{ContentType: "application/json"}, Body: text}, nil
}

// ResponseHeaders are the only headers that are stored. They belong to the result; all others belong to the request
// that happened to fetch it.
type ResponseHeaders struct {
	ContentType string `json:"content_type"`
	Location    string `json:"location,omitempty"`
}

// Caller is what is kept of the first request, so that people can find that request again.
type Caller struct {
	Method    string
	Path      string
	RequestID string
	// IP is the zero Addr when it is not known.
	IP        netip.Addr
	UserAgent string
}

// Identity identifies a key. Equal identities are the same key.
type Identity struct {
	OrgID    uuid.UUID
	Endpoint Endpoint
	Key      string
}

// Claim is a request's attempt to be the one use of a key.
type Claim struct {
	// ID becomes the id of the key's row, so that what the request creates can refer to it in the same transaction.
	ID uuid.UUID
	Identity

	Fingerprint Fingerprint
	Caller      Caller
	// Lifetime counts from the claim, by the database's clock.
	Lifetime time.Duration
	// Subject is the id of what the request creates, such as a run; zero when it creates nothing with an id.
	Subject uuid.UUID
	// Point is the recovery point that the claiming transaction reaches. At PointFinished the Response is stored with
	// the claim; at any other more phases follow, and the key is locked for Lock.
	Point    Point
	Response Response
	Lock     time.Duration
}

// Record returns the record that a successful claim has made, without a response. Hand it to Engine.Drive.
func (c *Claim) Record(expiresAt time.Time) Record {
	return Record{
		ID: c.ID, Identity: c.Identity, Fingerprint: c.Fingerprint,
		RequestID: c.Caller.RequestID, Subject: c.Subject, Point: c.Point, Epoch: FirstEpoch, LockTTL: c.Lock,
		ExpiresAt: expiresAt,
	}
}

// Record is a key as it is stored, read at one moment of the database's clock.
type Record struct {
	ID uuid.UUID
	Identity

	Fingerprint Fingerprint
	RequestID   string
	Subject     uuid.UUID
	Point       Point
	Expired     bool
	// Epoch is the fence. A holder writes only under the epoch that it locked the key with.
	Epoch int
	// LockTTL is how long the key stays locked; not positive when the key is free.
	LockTTL   time.Duration
	ExpiresAt time.Time
	// Response is set when the record is finished.
	Response Response
}

// Finished reports whether the key's response is stored.
func (r Record) Finished() bool {
	return r.Point == PointFinished
}

// Abandoned reports whether the request stopped between phases and no process holds its lock.
func (r Record) Abandoned() bool {
	return !r.Finished() && r.LockTTL <= 0
}

// DerivedKey returns the idempotency key for a foreign call that belongs to the request, so that the other side sees
// one call however often it is repeated. The purpose separates several calls of one request.
func (r Record) DerivedKey(purpose string) string {
	return "sv-" + purpose + "-" + r.ID.String()
}
