package core

import (
	"fmt"

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

// NewID makes an id that sorts by the time of its making (UUIDv7).
func NewID() (uuid.UUID, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return uuid.Nil, fmt.Errorf("make an id: %w", err)
	}
	return id, nil
}
