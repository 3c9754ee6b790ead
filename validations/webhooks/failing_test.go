package webhooks_test

import (
	"cmp"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/core/coretest"
)

// answering is a receiver that gives these answers, one after the other, and then 204.
func answering(tb testing.TB, statuses ...int) *httptest.Server {
	tb.Helper()
	left := make(chan int, len(statuses))
	for _, status := range statuses {
		left <- status
	}
	close(left)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(cmp.Or(<-left, http.StatusNoContent))
	}))
	tb.Cleanup(receiver.Close)
	return receiver
}

// turn publishes once, and returns when all that was due is delivered.
func (c court) turn(tb testing.TB) {
	tb.Helper()
	c.round(tb.Context(), tb)
	coretest.Eventually(tb, func() bool {
		return coretest.One[bool](tb, c.db, `SELECT count(lease_until) = 0 FROM webhooks`)
	})
}

// A webhook fails since the first failure behind its last success, and is due when its next delivery is.
func TestFailingSince(t *testing.T) {
	t.Parallel()
	answers := []int{500, 500, 204, 500}
	c := newCourt(t)
	org := c.webhook(t, answering(t, answers...).URL)
	var since []*time.Time
	for range answers {
		c.happen(t, org, 1)
		c.turn(t)
		since = append(since, coretest.One[*time.Time](t, c.db, `SELECT failing_since FROM webhooks`))
		if !coretest.One[bool](t, c.db, `SELECT due_at IS NOT DISTINCT FROM (SELECT min(due_at) FROM webhook_deliveries)
			FROM webhooks`) {
			t.Errorf("after %d answers the webhook is not due when its first delivery is", len(since))
		}
	}
	if since[0] == nil || since[1] == nil || !since[1].Equal(*since[0]) || since[2] != nil || since[3] == nil {
		t.Errorf("failing since %v after the answers %v", since, answers)
	}
}

// Who is suspended gets nothing until that ends, and who is disabled gets nothing of that time.
func TestWhoGetsNothing(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		before, after string
		want          []int
	}{
		"Suspended": {
			`UPDATE organizations SET suspended_at = now()`, `UPDATE organizations SET suspended_at = NULL`,
			[]int{0, 1},
		},
		"Disabled": {
			`UPDATE webhooks SET disabled_at = now(), disabled_reason = 'for a test'`,
			`UPDATE webhooks SET disabled_at = NULL, disabled_reason = ''`,
			[]int{0, 0},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCourt(t)
			org := c.webhook(t, answering(t, 204).URL)
			var got []int
			for _, change := range []string{tt.before, tt.after} {
				c.exec(t, change)
				if len(got) == 0 {
					c.happen(t, org, 1)
				}
				c.turn(t)
				got = append(got, coretest.One[int](t, c.db, `SELECT count(*) FROM webhook_attempts`))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("attempts = %v, want %v", got, tt.want)
			}
		})
	}
}
