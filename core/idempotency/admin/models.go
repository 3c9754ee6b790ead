package admin

import (
	"net/netip"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
)

// Entry is a key as it is listed, without bodies and digests.
type Entry struct {
	ID            uuid.UUID
	Key           string
	Endpoint      idempotency.Endpoint
	State         api.KeyState
	RequestMethod string
	RequestPath   string
	RequestID     string
	// RunID is the subject of the key; nil where its request creates no run.
	RunID *uuid.UUID
	// Status is the status of the stored response; nil while the request is unfinished.
	Status *int
	Point  idempotency.Point
	Epoch  int
	// Attempts is how often the completer has tried to finish the request, and LastError why a phase failed last.
	Attempts    int
	LastError   string
	CreatedAt   time.Time
	FinishedAt  *time.Time
	ExpiresAt   time.Time
	LockedUntil *time.Time
	// Replays, Mismatches and Conflicts count the repetitions that were replayed, refused because they meant another
	// request, and refused because the first one was in progress. They lag by a flush of the Activity.
	Replays       int64
	Mismatches    int64
	Conflicts     int64
	LastReplayAt  *time.Time
	LastRefusalAt *time.Time

	// changes are read by Find only.
	changes []phaseChange
}

// takeovers is how often another process took the key over.
func (e Entry) takeovers() int { return e.Epoch - idempotency.FirstEpoch }

// EntryFilter narrows a list of keys; empty members do not narrow.
type EntryFilter struct {
	Key string `query:"key" validate:"max=255"`
	// Search is a part of the key, in any case of its letters.
	Search   string `query:"q" validate:"max=255"`
	Endpoint string `query:"endpoint" validate:"max=100"`
	State    string `query:"state" validate:"omitempty,oneof=in_progress abandoned dead finished expired"`
	// Since and Until bound when the key was first used.
	Since string `query:"since" validate:"omitempty,datetime=2006-01-02T15:04:05Z07:00"`
	Until string `query:"until" validate:"omitempty,datetime=2006-01-02T15:04:05Z07:00"`
}

// StuckKey is an unfinished key of any organization whose lock has expired. Operators see these, so it has nothing of
// what the request contained.
type StuckKey struct {
	OrgID     uuid.UUID
	ID        uuid.UUID
	Key       string
	Endpoint  idempotency.Endpoint
	Attempts  int64
	LastError string
	CreatedAt time.Time
	// Dead reports whether the completer has given up.
	Dead bool
}

// KeyCounts counts the keys of all organizations.
type KeyCounts struct {
	ByState map[api.KeyState]int64
	// OldestUnfinished is the age of the oldest unfinished key that is not dead.
	OldestUnfinished time.Duration
}

// Day is what the requests of an organization got from their keys on one day in UTC.
type Day struct {
	Day time.Time
	// Replayed counts stored answers that were sent again.
	Replayed int64
	// InProgress and Reused count the refusals with 409 and 422.
	InProgress int64
	Reused     int64
	// Misnamed counts requests whose key came under another name, and so protected nothing.
	Misnamed int64
}

// Hours sums up the starts of an organization over some hours.
type Hours struct {
	// Replays counts the replayed starts by the hour of the replay. The hours are in UTC, and hours without replays may
	// be missing.
	Replays map[time.Time]int64
	// Took counts the new starts of all hours by duration: one count for each of metrics.StartBounds, and one beyond
	// the last.
	Took []int64
}

// UnkeyedRuns sums up which of an organization's latest runs were started without a key.
type UnkeyedRuns struct {
	// Runs is how many runs were looked at, and Unkeyed how many of them had no key.
	Runs, Unkeyed int64
	// Duplicates are pairs of runs that are probably one request sent twice, the latest first.
	Duplicates []DuplicateRun
}

// DuplicateRun is an unkeyed run whose workflow had checked the same document shortly before, also without a key.
type DuplicateRun struct {
	Run, Earlier uuid.UUID
	Workflow     string
	Filename     string
	At           time.Time
	// After is how long after the earlier run this one was started.
	After time.Duration
}

// origin is what is known of the first request of a key.
type origin struct {
	Fingerprint []byte
	Address     *netip.Addr
	UserAgent   string
}

// maxShownBody is how many bytes of a stored body are shown. The database cuts the body, so a large one never reaches
// this process.
const maxShownBody = 16 << 10

// storedResponse is the response that a key replays.
type storedResponse struct {
	Status  int
	Headers idempotency.ResponseHeaders
	// Body is cut at maxShownBody. Size is the size of the whole body in bytes.
	Body []byte
	Size int
}
