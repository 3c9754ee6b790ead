package api

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core"
)

func TestQuotaAtItsLimit(t *testing.T) {
	t.Parallel()

	t.Run("LetsExactlySoManyStartAtOnce", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		calls := make([]call, 50)
		for i := range calls {
			calls[i] = s.Start(t, fmt.Sprintf("key %d", i)).By(s.Tiny.Tokens.Executor)
		}
		want := map[int]int{http.StatusCreated: 3, http.StatusTooManyRequests: 47}
		if diff := cmp.Diff(want, s.AtOnce(t, calls)); diff != "" {
			t.Errorf("answers (-want +got):\n%s", diff)
		}
		s.wantRows(t, fixture.RowCounts{Keys: 3, Submissions: 3, Runs: 3, Jobs: 3, Audits: 3, Used: 3})
	})

	t.Run("CountsEachSpellingOfAKeyThatIsAnother", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		start := func(key string) call { return s.Start(t, key).By(s.Tiny.Tokens.Executor) }
		s.Started(t, start("key"))
		s.Started(t, start("KEY"))
		s.Started(t, start(`"key "`))
		s.Refused(t, core.CodeQuotaExceeded, start("k ey"))
		for _, same := range []string{`"key"`, " key ", "KEY", `"KEY"`, `"key "`} {
			fixture.WantHeader(t, s.Must(t, http.StatusCreated, start(same)),
				map[string]string{"Idempotent-Replayed": "true"})
		}
		s.wantRows(t, fixture.RowCounts{Keys: 3, Submissions: 3, Runs: 3, Jobs: 3, Audits: 3, Used: 3})
	})

	t.Run("ChargesOneKeyOnceHoweverOftenItComes", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		calls := make([]call, 50)
		for i := range calls {
			calls[i] = s.Start(t, "one").By(s.Tiny.Tokens.Executor)
		}
		got := s.AtOnce(t, calls)
		if got[http.StatusCreated]+got[http.StatusConflict] != len(calls) || got[http.StatusCreated] == 0 {
			t.Errorf("answers = %v, want 201 and 409 alone", got)
		}
		s.wantRows(t, fixture.RowCounts{Keys: 1, Submissions: 1, Runs: 1, Jobs: 1, Audits: 1, Used: 1})
	})
}
