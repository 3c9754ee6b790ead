package share

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/time/rate"

	"github.com/simplevalidations/simplevalidations/core"
)

// minIdle bounds how often idle entries are searched for.
const minIdle = time.Minute

// LocalRate limits how often each id may do something within this process. It protects the service and is not a quota.
type LocalRate struct {
	policy core.RatePolicy
	limit  rate.Limit
	burst  int
	// idle is how long an entry must be unused to be forgotten. By then its allowance is full again, so a new entry
	// is the same.
	idle time.Duration
	now  func() time.Time

	mu      sync.Mutex
	entries map[uuid.UUID]*localEntry
	swept   time.Time
}

type localEntry struct {
	limiter *rate.Limiter
	used    time.Time
}

// NewLocalRate makes a LocalRate that allows each id perSecond on average and burst at once. With perSecond 0 it is
// off.
func NewLocalRate(name string, perSecond float64, burst int) *LocalRate {
	l := &LocalRate{
		limit: rate.Limit(perSecond), burst: max(burst, 1), now: time.Now, entries: map[uuid.UUID]*localEntry{},
	}
	if perSecond > 0 {
		refill := l.timeFor(float64(l.burst))
		l.idle = max(refill, minIdle)
		l.policy = core.RatePolicy{Name: name, Quota: l.burst, Window: refill}
	}
	return l
}

// Allow counts one use by the id. When that is too many it is not counted.
func (l *LocalRate) Allow(_ context.Context, id uuid.UUID) core.Allowance {
	if l.limit <= 0 {
		return core.Allowance{}
	}
	now := l.now()
	limiter := l.limiterOf(id, now)
	reservation := limiter.ReserveN(now, 1)
	wait := reservation.DelayFrom(now)
	if wait > 0 {
		reservation.CancelAt(now)
	}
	left := max(limiter.TokensAt(now), 0)
	return core.Allowance{
		Wait: wait, Policy: l.policy, Remaining: int(left), Reset: l.timeFor(float64(l.burst) - left),
	}
}

// StopClock stops the time of the limit, for tests: what is used up stays used up, however slow the machine is. It must
// be called before the limit is used.
func (l *LocalRate) StopClock() {
	stopped := time.Now()
	l.now = func() time.Time { return stopped }
}

// timeFor is how long it takes to be allowed so many uses again.
func (l *LocalRate) timeFor(uses float64) time.Duration {
	return time.Duration(uses / float64(l.limit) * float64(time.Second))
}

func (l *LocalRate) limiterOf(id uuid.UUID, now time.Time) *rate.Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.swept) >= l.idle {
		l.sweep(now)
	}
	entry, known := l.entries[id]
	if !known {
		entry = &localEntry{limiter: rate.NewLimiter(l.limit, l.burst)}
		l.entries[id] = entry
	}
	entry.used = now
	return entry.limiter
}

func (l *LocalRate) sweep(now time.Time) {
	for id, entry := range l.entries {
		if now.Sub(entry.used) >= l.idle {
			delete(l.entries, id)
		}
	}
	l.swept = now
}
