package api

import (
	"net/http"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest/outside"
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
	s := setupOverage(t)
	s.billing.Script(outside.FailBefore)
	c := s.Start(t, "charged").With("Request-Id", "the-first")
	s.Refused(t, api.CodeUnavailable, c)
	s.Must(t, http.StatusCreated, c)
	want := []string{
		"received POST /api/workflows/meter-readings/start/, request the-first", "locked by this request",
		"phase reached run_reserved", "taken_over from a request that had stopped at run_reserved",
		"phase reached charged", "finished response stored", "expires the key is forgotten",
	}
	if diff := cmp.Diff(want, s.story(t, "charged")); diff != "" {
		t.Errorf("timeline (-want +got):\n%s", diff)
	}
}

// TestKeyPageDrawsTakeovers looks at the picture of a key whose first request has stopped between two phases.
func TestKeyPageDrawsTakeovers(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		goOn func(*testing.T, overageStage, call)
		// drawn are the courses of the lanes.
		drawn []string
		words []string
	}{
		"ByARetry": {
			goOn:  func(t *testing.T, s overageStage, c call) { t.Helper(); s.Must(t, http.StatusCreated, c) },
			drawn: []string{"event", "event", "event", "event", "first", "resumed"},
			words: []string{"It continued where that had stopped.", "201 continued"},
		},
		"ByTheCompleter": {
			goOn: func(t *testing.T, s overageStage, _ call) {
				t.Helper()
				s.Exec(t, `UPDATE idempotency_keys SET locked_until = now() WHERE key = 'charged'`)
				if n, err := s.Completer.RunOnce(t.Context()); n != 1 || err != nil {
					t.Fatalf("completer = %d, %v, want 1", n, err)
				}
			},
			drawn: []string{"event", "event", "event", "event", "first"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := setupOverage(t)
			s.billing.Script(outside.FailBefore)
			c := s.Start(t, "charged")
			s.Refused(t, api.CodeUnavailable, c)
			tt.goOn(t, s, c)
			s.FlushRequests(t)
			page := s.Visit(t, http.StatusOK, fixture.Page(
				"/app/orgs/"+s.Harbour.Slug+"/keys/"+s.Entry(t, "charged").ID+"/",
				s.Visitor(t, api.RoleViewer)))
			fixture.Shows(t, page, append(tt.words, "key locked", "reached run_reserved",
				"It locked the key, and ended before an answer was stored: temporarily unavailable.",
				"<b>Taken over</b>",
				"had stopped at run_reserved", "<b>Phase</b>", "Reached charged.", "<b>Finished</b>",
				"The answer was stored with the key.", "charged once")...)
			var drawn []string
			for _, lane := range regexp.MustCompile(`<li class="(\w+)[^"]*"><span class="when"><time`).
				FindAllStringSubmatch(page, -1) {
				drawn = append(drawn, lane[1])
			}
			slices.Sort(drawn)
			if diff := cmp.Diff(tt.drawn, drawn); diff != "" {
				t.Errorf("lanes (-want +got):\n%s", diff)
			}
		})
	}
}
