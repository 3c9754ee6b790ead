package requestlog

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/flush"
	"github.com/simplevalidations/simplevalidations/core/metrics"
	"github.com/simplevalidations/simplevalidations/core/share"
)

// Tokens finds out about tokens. The app that owns them implements it, because this package stands below it and cannot
// ask it.
type Tokens interface {
	// TokenOwners finds the tokens with these digests, also those that are revoked or have expired.
	TokenOwners(ctx context.Context, digests [][]byte) (map[Digest]TokenOwner, error)
	// TokenLabels returns what the organization calls its tokens.
	TokenLabels(ctx context.Context, orgID uuid.UUID, ids []uuid.UUID) (map[uuid.UUID]string, error)
}

// TokenOwner is a token and its organization.
type TokenOwner struct {
	OrgID, TokenID uuid.UUID
}

// The log is shared: no organization may fill it, nor may the replays of one.
const (
	// orgShare is the quarters of the capacity for one organization, and replayShare the part for its replays.
	orgShare    = 3
	replayShare = 2
	// unidentifiedShare is the part of the capacity for requests whose token is not valid.
	unidentifiedShare = 8
)

// Log collects the requests of a process until Flush writes them. The nil Log collects none.
type Log struct {
	database *db.DB
	tokens   Tokens
	metrics  *metrics.Requests
	// capacity is how many requests are kept between two flushes.
	capacity  int
	collected *flush.Collector[*buffer]
}

// buffer is what was collected since the last flush.
type buffer struct {
	capacity int
	metrics  *metrics.Requests
	entries  []Entry
	// unknown are requests whose token is not valid. They become entries if it belongs to an organization all the same.
	unknown []unidentified
	// taken counts the places of each organization, and replays those of them that replays have. Requests whose token
	// is not valid have those of uuid.Nil. Places whose entry is not written yet count too.
	taken, replays share.Held[uuid.UUID, int]
	refusals       map[refused]refusalCounts
}

// unidentified is a request with a token that is not valid.
type unidentified struct {
	Entry

	token Digest
}

// refused is what refusals are counted by.
type refused struct {
	orgID uuid.UUID
	code  api.Code
}

// refusalCounts counts the refused requests that would have started a run, and all others.
type refusalCounts struct {
	starts, others int64
}

func newBuffer(capacity int, measured *metrics.Requests) *buffer {
	return &buffer{capacity: capacity, metrics: measured, refusals: make(map[refused]refusalCounts)}
}

// New makes a Log that keeps at most the given number of requests between two flushes; with 0 it only counts refusals.
func New(database *db.DB, tokens Tokens, capacity int, measured *metrics.Requests) *Log {
	return &Log{
		database: database, tokens: tokens, metrics: measured, capacity: capacity,
		collected: flush.NewCollector(func() *buffer { return newBuffer(capacity, measured) }),
	}
}

// admit takes a place for a request. It reports false where the log is full: then the request is not logged. The
// organization is uuid.Nil for a request with a token that is not valid.
func (l *Log) admit(orgID uuid.UUID, isReplay bool) bool {
	var admitted bool
	l.collected.Collect(func(b *buffer) {
		admitted = b.taken.All() < b.capacity && b.taken.Of(orgID) < b.shareOf(orgID) &&
			(!isReplay || b.replays.Of(orgID) < max(b.capacity/replayShare, 1))
		if !admitted {
			b.metrics.Dropped(1)
			return
		}
		b.take(orgID, isReplay)
	})
	return admitted
}

func (b *buffer) take(orgID uuid.UUID, isReplay bool) {
	b.taken.Add(orgID, 1)
	if isReplay {
		b.replays.Add(orgID, 1)
	}
}

// shareOf is a part of the capacity, and at least one place of it.
func (b *buffer) shareOf(orgID uuid.UUID) int {
	if orgID == uuid.Nil {
		return max(b.capacity/unidentifiedShare, 1)
	}
	return max(b.capacity*orgShare/4, 1)
}

// add puts a request on the place that it was admitted to.
func (l *Log) add(entry Entry) {
	l.collected.Collect(func(b *buffer) { b.entries = append(b.entries, entry) })
}

// addUnidentified is add for a request with a token that is not valid.
func (l *Log) addUnidentified(entry Entry, token Digest) {
	l.collected.Collect(func(b *buffer) { b.unknown = append(b.unknown, unidentified{Entry: entry, token: token}) })
}

// count counts a refused request, whether the log has capacity for it or not.
func (l *Log) count(entry Entry) {
	start := slices.Contains(starts(), entry.Endpoint)
	if start {
		l.metrics.StartRefused(string(entry.Code))
	}
	l.collected.Collect(func(b *buffer) { b.count(entry, start) })
}

func (b *buffer) count(entry Entry, start bool) {
	what := refused{orgID: entry.OrgID, code: entry.Code}
	sum := b.refusals[what]
	if start {
		sum.starts++
	} else {
		sum.others++
	}
	b.refusals[what] = sum
}

// Flush writes what was collected since the last call (flush.Collector).
func (l *Log) Flush(ctx context.Context) (int, error) {
	return l.collected.Flush(ctx, func(ctx context.Context, taken *buffer) error {
		if err := l.write(ctx, taken); err != nil {
			return fmt.Errorf("write the log of requests: %w", err)
		}
		l.metrics.Written(len(taken.entries))
		return nil
	})
}

// Empty reports whether nothing was collected.
func (b *buffer) Empty() bool {
	return len(b.entries) == 0 && len(b.unknown) == 0 && len(b.refusals) == 0
}

// Restore puts back what was taken and not written, the newest first if there is not capacity for all of it.
func (b *buffer) Restore(taken *buffer) {
	for what, counts := range taken.refusals {
		sum := b.refusals[what]
		sum.starts += counts.starts
		sum.others += counts.others
		b.refusals[what] = sum
	}
	fit := min(max(b.capacity-b.taken.All(), 0), len(taken.entries))
	b.metrics.Dropped(len(taken.entries) - fit)
	for _, entry := range taken.entries[len(taken.entries)-fit:] {
		b.entries = append(b.entries, entry)
		b.take(entry.OrgID, entry.Replayed)
	}
	fit = min(max(b.shareOf(uuid.Nil)-b.taken.Of(uuid.Nil), 0), len(taken.unknown))
	b.metrics.Dropped(len(taken.unknown) - fit)
	b.unknown = append(b.unknown, taken.unknown[len(taken.unknown)-fit:]...)
	b.taken.Add(uuid.Nil, fit)
}

// write writes what was taken. Requests whose token belongs to an organization become entries of it first.
func (l *Log) write(ctx context.Context, taken *buffer) error {
	if err := l.identify(ctx, taken); err != nil {
		return err
	}
	return writeEntries(ctx, l.database, taken)
}

// identify finds the organizations of requests whose token was not valid. Unknown tokens are left out.
func (l *Log) identify(ctx context.Context, taken *buffer) error {
	if len(taken.unknown) == 0 {
		return nil
	}
	digests := db.Column(taken.unknown, func(u *unidentified) []byte { return u.token[:] })
	owners, err := l.tokens.TokenOwners(ctx, digests)
	if err != nil {
		return err
	}
	for _, request := range taken.unknown {
		if owner, found := owners[request.token]; found {
			request.OrgID, request.TokenID = owner.OrgID, owner.TokenID
			taken.entries = append(taken.entries, request.Entry)
			taken.count(request.Entry, slices.Contains(starts(), request.Endpoint))
		}
	}
	taken.unknown = nil
	return nil
}
