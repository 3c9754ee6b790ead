package webhooks

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/api"
)

// schemaVersion is that of the data of events.
const schemaVersion = 1

// Event is something that has happened in an organization.
type Event struct {
	ID uuid.UUID
	// Position is the event's place in the list of its organization.
	Position int64
	Type     api.EventType
	At       time.Time
	// Data is JSON.
	Data string
}

// body is the event as it is listed and sent. It is the same each time.
func (e Event) body() ([]byte, error) {
	body, err := json.Marshal(e.render())
	if err != nil {
		return nil, fmt.Errorf("render event %s: %w", e.ID, err)
	}
	return body, nil
}

func (e Event) render() api.Event {
	shown := api.Event{ID: e.ID.String(), Type: e.Type, SchemaVersion: schemaVersion, Timestamp: api.At(e.At)}
	// The database has made it of valid JSON.
	_ = json.Unmarshal([]byte(e.Data), &shown.Data)
	return shown
}
