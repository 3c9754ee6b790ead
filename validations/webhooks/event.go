package webhooks

import (
	"encoding/json"
	"fmt"

	"github.com/simplevalidations/simplevalidations/core/api"
)

// Event is something that has happened in an organization.
type Event struct {
	api.Event

	// Position is the event's place in the list of its organization; 0 until it has one.
	Position int64 `json:"position"`
}

// body is the event as it is listed and sent. It is the same each time.
func (e Event) body() ([]byte, error) {
	body, err := json.Marshal(e.Event)
	if err != nil {
		return nil, fmt.Errorf("render event %s: %w", e.ID, err)
	}
	return body, nil
}
