package config_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/core"
)

// outcomes counts answers by their status.
type outcomes struct {
	mu    sync.Mutex
	count map[int]int
}

// atOnce makes all calls at once and counts their answers.
func (s *stage) atOnce(tb testing.TB, calls []call) map[int]int {
	tb.Helper()
	got := outcomes{count: map[int]int{}}
	begin := make(chan struct{})
	var clients sync.WaitGroup
	for _, c := range calls {
		clients.Go(func() {
			<-begin
			answer, err := s.send(tb.Context(), c)
			if err != nil {
				tb.Errorf("start: %v", err)
				return
			}
			got.mu.Lock()
			defer got.mu.Unlock()
			got.count[answer.status]++
		})
	}
	close(begin)
	clients.Wait()
	return got.count
}

func TestQuotaAtItsLimit(t *testing.T) {
	t.Parallel()

	t.Run("LetsExactlySoManyStartAtOnce", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		calls := make([]call, 50)
		for i := range calls {
			calls[i] = s.start(t, fmt.Sprintf("key %d", i)).by(s.Tiny.Tokens.Executor)
		}
		want := map[int]int{http.StatusCreated: 3, http.StatusTooManyRequests: 47}
		if diff := cmp.Diff(want, s.atOnce(t, calls)); diff != "" {
			t.Errorf("answers (-want +got):\n%s", diff)
		}
		s.wantRows(t, rowCounts{Keys: 3, Submissions: 3, Runs: 3, Jobs: 3, Audits: 3, Used: 3})
	})

	t.Run("CountsEachSpellingOfAKeyThatIsAnother", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		start := func(key string) call { return s.start(t, key).by(s.Tiny.Tokens.Executor) }
		s.started(t, start("key"))
		s.started(t, start("KEY"))
		s.started(t, start(`"key "`))
		s.refused(t, core.CodeQuotaExceeded, start("k ey"))
		for _, same := range []string{`"key"`, " key ", "KEY", `"KEY"`, `"key "`} {
			wantHeader(t, s.must(t, http.StatusCreated, start(same)), map[string]string{"Idempotent-Replayed": "true"})
		}
		s.wantRows(t, rowCounts{Keys: 3, Submissions: 3, Runs: 3, Jobs: 3, Audits: 3, Used: 3})
	})

	t.Run("ChargesOneKeyOnceHoweverOftenItComes", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		calls := make([]call, 50)
		for i := range calls {
			calls[i] = s.start(t, "one").by(s.Tiny.Tokens.Executor)
		}
		got := s.atOnce(t, calls)
		if got[http.StatusCreated]+got[http.StatusConflict] != len(calls) || got[http.StatusCreated] == 0 {
			t.Errorf("answers = %v, want 201 and 409 alone", got)
		}
		s.wantRows(t, rowCounts{Keys: 1, Submissions: 1, Runs: 1, Jobs: 1, Audits: 1, Used: 1})
	})
}
