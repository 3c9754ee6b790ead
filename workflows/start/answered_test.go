package start

import (
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
)

// A copy that arrived before the first request was answered gets its answer, whatever would be refused by now.
func TestCopiesAreAnsweredOfTheirFirst(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for name, change := range map[string]func(r *Request){
		"WhileTheBodyIsRead":              func(*Request) {},
		"WhileTheirWorkflowIsDeactivated": func(r *Request) { r.Workflow.Active = false },
		"WhileTheirRateLimitIsReached": func(r *Request) {
			r.Admit = func() error { return core.RateLimited("Too many.", time.Second) }
		},
		// Its phases were under way.
		"WhileTheyWaitForTheFirst": func(r *Request) {
			r.Workflow.Active = false
			r.Stored.Point, r.Stored.LockTTL, r.Stored.Response = pointReserved, time.Minute, idempotency.Response{}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tn := b.tenant(t, 1)
			copied := tn.request("k", `"a"`)
			copied.Endpoint = Endpoint
			first, err := b.starter.Start(t.Context(), copied)
			if err != nil {
				t.Fatal(err)
			}
			if name == "WhileTheyWaitForTheFirst" {
				copied.Stored, err = b.starter.Lookup(t.Context(), tn.principal.OrgID, Endpoint, copied.Key)
				if err != nil {
					t.Fatal(err)
				}
			}
			change(&copied)
			again, err := b.starter.Start(t.Context(), copied)
			if err != nil || !again.Replayed || again.RunID != first.RunID {
				t.Errorf("answer = %+v, %v, want that of run %s again", again, err, first.RunID)
			}
		})
	}
}
