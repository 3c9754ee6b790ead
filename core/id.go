package core

import (
	"encoding/binary"
	"time"

	"github.com/google/uuid"
)

// idLength is that of the one form in which ids are shown: 36 characters with hyphens.
const idLength = 36

// ParseID reads an id in the form in which it is shown. Other spellings of UUIDs are no ids: they may be slugs.
func ParseID(text string) (uuid.UUID, bool) {
	if len(text) != idLength {
		return uuid.Nil, false
	}
	id, err := uuid.Parse(text)
	return id, err == nil
}

// FirstIDAt is the least id that NewID can make at the time.
func FirstIDAt(at time.Time) uuid.UUID {
	var id uuid.UUID
	var milliseconds [8]byte
	binary.BigEndian.PutUint64(milliseconds[:], uint64(max(at.UnixMilli(), 0))<<(8*(len(milliseconds)-6)))
	copy(id[:6], milliseconds[:6])
	return id
}

// ParseIDs reads the ids that a form selects, each once. A text that is no id selects nothing.
func ParseIDs(texts []string) []uuid.UUID {
	var ids []uuid.UUID
	seen := make(map[uuid.UUID]bool)
	for _, text := range texts {
		if id, ok := ParseID(text); ok && !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	return ids
}

// NewID makes an id that sorts by the time of its making (UUIDv7). It never fails: since Go 1.24 a machine without
// randomness ends the process instead.
func NewID() uuid.UUID { return uuid.Must(uuid.NewV7()) }
