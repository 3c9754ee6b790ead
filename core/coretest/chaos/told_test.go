package chaos

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

// hearing are settings with which webhooks reach this machine, and are tried again soon.
func hearing() []string {
	return []string{
		"SV_EXTERNAL_ALLOW=127.0.0.0/8", "SV_WEBHOOK_TIMEOUT=1s", "SV_WEBHOOK_RETRIES=100ms,100ms,100ms,1s,1s",
	}
}

// listener is the receiver of a webhook of harbour.
type listener struct {
	mu sync.Mutex
	// events are the ids of the events of each run, and how often each came.
	events map[string]map[string]int
}

// listen makes a webhook that is told of the ends of all runs from now on.
func listen(tb testing.TB, i *program.Installation, server *program.Server) *listener {
	tb.Helper()
	l := &listener{events: make(map[string]map[string]int)}
	receiver := httptest.NewServer(l)
	tb.Cleanup(receiver.Close)
	request, err := http.NewRequestWithContext(tb.Context(), http.MethodPost, server.URL()+"/api/webhooks/",
		strings.NewReader(`{"url":"`+receiver.URL+`","event_types":["run.completed","run.canceled"]}`))
	if err != nil {
		tb.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := program.NewClient(tb, i.Harbour.Tokens.Owner).Do(request)
	if err != nil || !answer.Created() {
		tb.Fatalf("webhook: %v, %d %s", err, answer.Status, answer.Body)
	}
	return l
}

// ServeHTTP notes the event.
func (l *listener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var event api.Event
	if err := json.NewDecoder(r.Body).Decode(&event); err != nil {
		// The sender was killed meanwhile.
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	run, _ := event.Data["run"].(string)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.events[run] == nil {
		l.events[run] = make(map[string]int)
	}
	l.events[run][event.ID]++
	w.WriteHeader(http.StatusNoContent)
}

// check wants each completed run to be told of, by one event, and no other.
func (l *listener) check(tb testing.TB, i *program.Installation) {
	tb.Helper()
	program.Await(tb, "nothing is left to deliver", func() bool {
		return program.Count(tb, i.DB, `SELECT (SELECT count(*) FROM events WHERE position IS NULL)
			+ (SELECT count(*) FROM webhook_deliveries WHERE NOT delivered)`) == 0
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	completed := program.Count(tb, i.DB, `SELECT count(*) FROM validation_runs AS r WHERE state = 'COMPLETED'
		AND org_id = (SELECT org_id FROM webhooks)`)
	if len(l.events) != completed {
		tb.Errorf("%d runs were told of, want the %d that are completed", len(l.events), completed)
	}
	repeated := 0
	for run, events := range l.events {
		if len(events) != 1 {
			tb.Errorf("run %s has the events %v, want one", run, events)
		}
		for _, times := range events {
			repeated += times - 1
		}
	}
	tb.Logf("%d runs were told of, %d events came again", completed, repeated)
}
