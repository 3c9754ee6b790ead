package requestlog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/db"
)

// Filter narrows a list of requests; empty members do not narrow.
type Filter struct {
	// Status is the first digit of the status.
	Status string `query:"status"   validate:"omitempty,oneof=2xx 3xx 4xx 5xx"`
	Code   string `query:"code"     validate:"max=100"`
	Key    string `query:"key"      validate:"max=255"`
	Token  string `query:"token"    validate:"omitempty,uuid"`
	Run    string `query:"run"      validate:"omitempty,uuid"`
	Since  string `query:"since"    validate:"omitempty,datetime=2006-01-02T15:04:05Z07:00"`
	Until  string `query:"until"    validate:"omitempty,datetime=2006-01-02T15:04:05Z07:00"`
}

// Request is an entry that was read.
type Request struct {
	ID uuid.UUID
	Entry
}

// Reader reads the log.
type Reader struct {
	db *db.DB
}

// NewReader makes a Reader.
func NewReader(database *db.DB) *Reader { return &Reader{db: database} }

// List reads one page of the requests that the principal may see, newest first.
func (r *Reader) List(
	ctx context.Context, principal core.Principal, filter Filter, cursor core.Cursor,
) (core.Scanned[Request], error) {
	query := newListQuery(principal.OrgID, filter, cursor)
	query.starts = !seesAll(principal)
	requests, err := r.requests(ctx, query)
	if err != nil || len(requests) > cursor.Size || !query.compares() {
		return core.Scanned[Request]{Found: requests}, err
	}
	found := core.Scanned[Request]{Found: requests}
	found.Stopped, err = r.lastCompared(ctx, query)
	return found, err
}

// seesAll reports whether the principal sees requests that start no runs. They may show what members do and which
// tokens exist.
func seesAll(principal core.Principal) bool { return principal.Role.Allows(api.RoleAdmin) }

// Find reads one request that the principal may see.
func (r *Reader) Find(ctx context.Context, principal core.Principal, id uuid.UUID) (Request, error) {
	request, err := r.find(ctx, principal.OrgID, id, !seesAll(principal))
	if errors.Is(err, pgx.ErrNoRows) {
		return Request{}, core.NotFound("request")
	}
	if err != nil {
		return Request{}, fmt.Errorf("read request %s: %w", id, err)
	}
	return request, nil
}

// Use is one use of an idempotency key.
type Use struct {
	OrgID    uuid.UUID
	Key      string
	Endpoint string
	// Since and Until bound when it was used: the same key may have been another's before, or be again later.
	Since, Until time.Time
}

// Refusal counts the refusals of a day with one code.
type Refusal struct {
	Day  time.Time
	Code api.Code
	// Starts counts the requests that would have started a run, and Others the rest.
	Starts, Others int64
}

// Title names the reason.
func (r Refusal) Title() string { return core.Spec(r.Code).Title }

// All counts the requests of both kinds.
func (r Refusal) All() int64 { return r.Starts + r.Others }

// Sum adds the refused starts of several days up, most of them first.
func Sum(refusals []Refusal) []Refusal {
	var sums []Refusal
	for _, refusal := range refusals {
		if refusal.Starts == 0 {
			continue
		}
		i := slices.IndexFunc(sums, func(sum Refusal) bool { return sum.Code == refusal.Code })
		if i < 0 {
			i = len(sums)
			sums = append(sums, Refusal{Code: refusal.Code})
		}
		sums[i].Starts += refusal.Starts
	}
	slices.SortStableFunc(sums, func(a, b Refusal) int { return cmp.Compare(b.Starts, a.Starts) })
	return sums
}
