package conformance

import (
	"crypto/sha256"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

// racers is how many requests are sent with one key at once, which is more than both servers have connections.
const racers = 64

func TestCrowdWithOneKey(t *testing.T) {
	t.Parallel()
	s := open(t, "SV_RUN_SWEEP_AFTER=5m", "SV_RUN_LEASE=1m", "SV_DB_MAX_CONNS=20")
	firsts := map[string]reply{}
	for k := range racedKeys {
		same := "same-" + strconv.Itoa(k)
		firsts[same] = wantOneFirst(t, s.atOnce(t, slices.Repeat([]call{s.start(t).key(same)}, racers)))

		mixed := "mixed-" + strconv.Itoa(k)
		one := s.start(t).key(mixed)
		other := one.json(strings.Replace(one.body, "Harbour House", "Another House", 1))
		firsts[mixed] = wantOneFirst(t, s.atOnce(t, slices.Repeat([]call{one, one, other, other}, racers/4)))
	}
	program.CheckAtRest(t, s.DB)
	for key, first := range firsts {
		s.wantOneEffect(t, key, first)
	}
	if got := program.Count(t, s.DB, "SELECT sum(used) FROM usage_counters"); got != len(firsts) {
		t.Errorf("charged runs = %d, want %d", got, len(firsts))
	}
}

// wantOneEffect demands one run and one execution under the key, both of the document of the first answer.
func (s *site) wantOneEffect(tb testing.TB, key string, first reply) {
	tb.Helper()
	s.wantRuns(tb, key, 1)
	sum := sha256.Sum256([]byte(first.call.body))
	const executions = `
		SELECT coalesce(sum(r.attempts), 0) FROM validation_runs AS r JOIN submissions AS s ON s.id = r.submission_id
		WHERE r.idempotency_key = $1 AND r.id = $2 AND s.sha256 = $3`
	if got := program.Count(tb, s.DB, executions, key, first.answer.Run(tb), sum[:]); got != 1 {
		tb.Errorf("executions of the first document of key %q = %d, want 1", key, got)
	}
}

func TestCrowdWithAQuota(t *testing.T) {
	t.Parallel()
	const quota, starts = 3, 50
	s := open(t)
	start := s.start(t).by(s.Tiny.Tokens.Executor)
	var refused []call
	for _, r := range s.atOnce(t, keyed(start, starts, "quota-")) {
		if r.answer.Created() {
			continue
		}
		p := program.WantProblem(t, r.answer, http.StatusTooManyRequests, api.CodeQuotaExceeded)
		if p.Retryable || r.answer.Header.Get("Retry-After") == "" {
			t.Errorf("refusal = %+v with Retry-After %q, want one that is not retryable and says when the quota is new",
				p, r.answer.Header.Get("Retry-After"))
		}
		refused = append(refused, r.call)
	}
	if got := starts - len(refused); got != quota {
		t.Fatalf("accepted starts = %d, want %d", got, quota)
	}
	s.wantUsage(t, s.Tiny.ID, quota)
	s.refused(t, refused[0], api.CodeQuotaExceeded)

	s.command(t, "org", "set", "tiny-quota", "--runs", "4")
	s.replayed(t, refused[0], s.created(t, refused[0]))
	s.refused(t, refused[1], api.CodeQuotaExceeded)
	s.wantUsage(t, s.Tiny.ID, quota+1)
	program.CheckAtRest(t, s.DB)
}

// wantUsage demands that so many runs of an organization are charged and as many keys are stored.
func (s *site) wantUsage(tb testing.TB, org uuid.UUID, want int) {
	tb.Helper()
	if got := program.Count(tb, s.DB, "SELECT sum(used) FROM usage_counters WHERE org_id = $1", org); got != want {
		tb.Errorf("used = %d, want %d", got, want)
	}
	if got := program.Count(tb, s.DB, "SELECT count(*) FROM idempotency_keys WHERE org_id = $1", org); got != want {
		tb.Errorf("keys = %d, want %d", got, want)
	}
}
