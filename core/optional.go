package core

import (
	"encoding/json"

	"github.com/google/uuid"
)

// Optional is a member of an answer that may be absent: a time, an address, an id, a key. The empty one is null in
// JSON, never "", because typed clients parse such values. Texts for people are plain strings, which are never null.
type Optional string

// MarshalJSON writes the value, or null where it is absent.
func (o Optional) MarshalJSON() ([]byte, error) {
	if o == "" {
		return []byte("null"), nil
	}
	return json.Marshal(string(o))
}

// OptionalID renders the id of an object that may not exist.
func OptionalID(id *uuid.UUID) Optional {
	if id == nil {
		return ""
	}
	return Optional(id.String())
}
