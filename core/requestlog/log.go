package requestlog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/metrics"
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
	// orgShare and replayShare are quarters of the room: of one organization, and of its replays.
	orgShare    = 3
	replayShare = 2
	// strangersShare is the part of the room for requests whose token is not valid.
	strangersShare = 8
)

// kind is a class of requests, each of which has a share of the log.
type kind int

const (
	ordinary kind = iota
	replay
	refusal
)

// Log collects the requests of a process until Flush writes them. The nil Log collects none.
type Log struct {
	database *db.DB
	tokens   Tokens
	metrics  *metrics.Requests
	// room is how many requests are kept between two flushes.
	room int

	mu       sync.Mutex
	buffered buffer
}

// buffer is what was collected since the last flush.
type buffer struct {
	entries []Entry
	// unknown are requests whose token is not valid. They become entries if it belongs to an organization all the same.
	unknown []stranger
	// taken counts the places by organization, and replays those of them that replays have.
	taken, replays map[uuid.UUID]int
	// places counts all, strangers those of strangers. Both include places whose entry is not written yet.
	places, strangers int
	refusals          map[refused]refusalCounts
}

// stranger is a request with a token that is not valid.
type stranger struct {
	Entry

	token Digest
}

// refused is what refusals are counted by.
type refused struct {
	orgID uuid.UUID
	code  core.Code
}

// refusalCounts counts the refused requests that would have started a run, and all others.
type refusalCounts struct {
	starts, others int64
}

func newBuffer() buffer {
	return buffer{
		taken: make(map[uuid.UUID]int), replays: make(map[uuid.UUID]int),
		refusals: make(map[refused]refusalCounts),
	}
}

// New makes a Log that keeps at most the given number of requests between two flushes; with 0 it only counts refusals.
func New(database *db.DB, tokens Tokens, room int, measured *metrics.Requests) *Log {
	return &Log{database: database, tokens: tokens, metrics: measured, room: room, buffered: newBuffer()}
}

// admit takes a place for a request of the organization, and counts one that was refused. It reports false where the
// log has no room: then the request is not logged.
func (l *Log) admit(orgID uuid.UUID, k kind) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := &l.buffered
	share := l.shareOf(orgShare, 4)
	switch {
	case b.places >= l.room, b.taken[orgID] >= share:
	case k == replay && b.replays[orgID] >= l.shareOf(replayShare, 4):
	default:
		b.places++
		b.taken[orgID]++
		if k == replay {
			b.replays[orgID]++
		}
		return true
	}
	l.metrics.Dropped(1)
	return false
}

// admitStranger is admit for a request with a token that is not valid.
func (l *Log) admitStranger() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := &l.buffered
	if b.places >= l.room || b.strangers >= l.shareOf(1, strangersShare) {
		l.metrics.Dropped(1)
		return false
	}
	b.places++
	b.strangers++
	return true
}

// shareOf is a part of the room, and at least one place of it.
func (l *Log) shareOf(part, of int) int { return max(l.room*part/of, 1) }

// add puts a request on the place that it was admitted to.
func (l *Log) add(entry Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buffered.entries = append(l.buffered.entries, entry)
}

// addStranger is add for a request with a token that is not valid.
func (l *Log) addStranger(entry Entry, token Digest) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buffered.unknown = append(l.buffered.unknown, stranger{Entry: entry, token: token})
}

// count counts a refused request, whether the log has room for it or not.
func (l *Log) count(entry Entry) {
	start := slices.Contains(starts(), entry.Endpoint)
	if start {
		l.metrics.StartRefused(string(entry.Code))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buffered.count(entry, start)
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

// Flush writes what was collected since the last call. It always returns 0, because there is no reason to call it again
// at once. What was certainly not written is kept for the next call as far as there is room. After an unknown outcome
// it is dropped, because counting too little is better than counting twice.
func (l *Log) Flush(ctx context.Context) (int, error) {
	taken := l.take()
	if len(taken.entries) == 0 && len(taken.unknown) == 0 && len(taken.refusals) == 0 {
		return 0, nil
	}
	if err := l.write(ctx, &taken); err != nil {
		if !errors.Is(err, db.ErrOutcomeUnknown) {
			l.restore(taken)
		}
		return 0, fmt.Errorf("write the log of requests: %w", err)
	}
	l.metrics.Written(len(taken.entries))
	return 0, nil
}

func (l *Log) take() buffer {
	l.mu.Lock()
	defer l.mu.Unlock()
	taken := l.buffered
	l.buffered = newBuffer()
	return taken
}

// restore puts back what was taken and not written, the newest first if there is not room for all of it.
func (l *Log) restore(taken buffer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := &l.buffered
	for what, counts := range taken.refusals {
		sum := b.refusals[what]
		sum.starts += counts.starts
		sum.others += counts.others
		b.refusals[what] = sum
	}
	fit := min(max(l.room-b.places, 0), len(taken.entries))
	l.metrics.Dropped(len(taken.entries) - fit)
	for _, entry := range taken.entries[len(taken.entries)-fit:] {
		b.entries = append(b.entries, entry)
		b.places++
		b.taken[entry.OrgID]++
		if entry.Replayed {
			b.replays[entry.OrgID]++
		}
	}
	fit = min(max(l.shareOf(1, strangersShare)-b.strangers, 0), len(taken.unknown))
	l.metrics.Dropped(len(taken.unknown) - fit)
	b.unknown = append(b.unknown, taken.unknown[len(taken.unknown)-fit:]...)
	b.strangers += fit
	b.places += fit
}

// write writes what was taken. Requests whose token belongs to an organization become entries of it first.
func (l *Log) write(ctx context.Context, taken *buffer) error {
	if err := l.identify(ctx, taken); err != nil {
		return err
	}
	return writeEntries(ctx, l.database, *taken)
}

// identify finds the organizations of requests whose token was not valid. Unknown tokens are left out.
func (l *Log) identify(ctx context.Context, taken *buffer) error {
	if len(taken.unknown) == 0 {
		return nil
	}
	digests := db.Column(taken.unknown, func(s *stranger) []byte { return s.token[:] })
	owners, err := l.tokens.TokenOwners(ctx, digests)
	if err != nil {
		return err
	}
	for _, stranger := range taken.unknown {
		if owner, found := owners[stranger.token]; found {
			stranger.OrgID, stranger.TokenID = owner.OrgID, owner.TokenID
			taken.entries = append(taken.entries, stranger.Entry)
			taken.count(stranger.Entry, slices.Contains(starts(), stranger.Endpoint))
		}
	}
	taken.unknown = nil
	return nil
}
