package idempotency

import (
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
)

// FormField is the name of the hidden field that carries the key of a form.
const FormField = "key"

// NewFormKey makes the key of a form that is about to be shown. However often that form is then sent, by a double click
// or from a page that the browser has kept, its work is done once.
func NewFormKey() (string, error) {
	id, err := core.NewID()
	if err != nil {
		return "", err
	}
	return id.String(), nil
}

// FormKey reads the key that a form was sent with. The key tells when its form was made, and a form from which the key
// may have been forgotten meanwhile is refused: that it is sent for the second time could not be seen any more.
func (g *Guard) FormKey(principal core.Principal, text string) (Key, error) {
	id, ok := core.ParseID(text)
	if !ok || id.Version() != 7 {
		return Key{}, core.NewError(core.CodeKeyInvalid, "The form has no key. Open it again and send it from there.")
	}
	// A tenth is left for clocks that differ.
	if time.Since(madeAt(id)) > g.Lifetime(principal)*9/10 {
		return Key{}, core.NewError(core.CodeKeyInvalid,
			"The form was opened too long ago to tell whether it was sent before. Look whether it has done its work; "+
				"if not, send it once more from here.")
	}
	return Key{Value: id.String(), Given: true}, nil
}

// madeAt is the time that an id of version 7 begins with.
func madeAt(id uuid.UUID) time.Time {
	return time.Unix(id.Time().UnixTime())
}
