package api

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/coretest/billing"
)

// story returns the events of a key of harbour's without their times.
func (s *stage) story(tb testing.TB, key string) []string {
	tb.Helper()
	var told []string
	for _, event := range s.Entry(tb, key).Timeline {
		told = append(told, event.Event+" "+event.Detail)
	}
	return told
}

func TestTimelineOfSeveralPhases(t *testing.T) {
	t.Parallel()
	const received = "received POST /api/workflows/meter-readings/start/, request the-first"

	t.Run("TellsEveryPhaseAndTakeover", func(t *testing.T) {
		t.Parallel()
		s := setupOverage(t)
		s.billing.Script(billing.FailBefore)
		c := s.Start(t, "charged").With("Request-Id", "the-first")
		s.Refused(t, core.CodeUnavailable, c)
		s.Must(t, http.StatusCreated, c)
		want := []string{
			received, "locked by this request", "phase reached run_reserved",
			"taken_over from a request that had stopped at run_reserved", "phase reached charged",
			"finished response stored", "expires the key is forgotten",
		}
		if diff := cmp.Diff(want, s.story(t, "charged")); diff != "" {
			t.Errorf("timeline (-want +got):\n%s", diff)
		}
	})

	t.Run("EndsWithADecline", func(t *testing.T) {
		t.Parallel()
		s := setupOverage(t)
		s.billing.Script(billing.Decline)
		s.Refused(t, core.CodePaymentRequired, s.Start(t, "poor").With("Request-Id", "the-first"))
		want := []string{
			received, "locked by this request", "phase reached run_reserved", "finished response stored",
			"expires the key is forgotten",
		}
		if diff := cmp.Diff(want, s.story(t, "poor")); diff != "" {
			t.Errorf("timeline (-want +got):\n%s", diff)
		}
	})
}
