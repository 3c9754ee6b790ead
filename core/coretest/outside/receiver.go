package outside

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"sync"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/simplevalidations/simplevalidations/core/api"
)

// Receiver receives the webhooks of runs. It checks their signatures with the library of Standard Webhooks, and notes
// which events have told of each run. Its zero value is of no use; call NewReceiver.
type Receiver struct {
	*Plan[api.Event]

	verifier *standardwebhooks.Webhook

	mu   sync.Mutex // guards told
	told map[string]map[string]int
}

// NewReceiver makes a Receiver that accepts every event that is signed with the secret.
func NewReceiver(secret string) (*Receiver, error) {
	verifier, err := standardwebhooks.NewWebhook(secret)
	return &Receiver{Plan: NewPlan[api.Event](Accept), verifier: verifier, told: make(map[string]map[string]int)}, err
}

// Told returns the ids of the events of each run, and how often the receiver has acted on each.
func (s *Receiver) Told() map[string]map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	told := make(map[string]map[string]int)
	for run, events := range s.told {
		told[run] = maps.Clone(events)
	}
	return told
}

// ServeHTTP acts on an event, and answers 204.
func (s *Receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // The sender has died meanwhile.
	}
	var event api.Event
	if err := s.verifier.Verify(body, r.Header); err != nil {
		s.Refuse(w, http.StatusUnauthorized, err)
		return
	}
	err = json.Unmarshal(body, &event)
	if id := r.Header.Get("Webhook-Id"); err != nil || event.ID != id {
		s.Refuse(w, http.StatusBadRequest, fmt.Errorf("no event %s: %w", id, err))
		return
	}
	behavior, hook := s.Next()
	hook(Received, event)
	if failsBefore(w, r, behavior) {
		return
	}
	s.act(event)
	hook(Acted, event)
	if failsAfter(w, behavior, "") {
		return
	}
	w.WriteHeader(http.StatusNoContent)
	hook(Answered, event)
}

func (s *Receiver) act(event api.Event) {
	run, _ := event.Data["run"].(string)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.told[run] == nil {
		s.told[run] = make(map[string]int)
	}
	s.told[run][event.ID]++
}
