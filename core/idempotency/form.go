package idempotency

import (
	"crypto/sha256"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
)

// FormField is the name of the hidden field that carries the key of a form.
const FormField = "key"

// NewFormKey makes the key of a form that is about to be shown. The form's work is then done once, however often it is
// sent: by a double click, or from a page that the browser has kept.
func NewFormKey() string { return core.NewID().String() }

// FormKey reads the key that a form was sent with. A key contains the time at which its form was made. A form is
// refused when its key may have expired, because a second sending could no longer be recognized.
func (g *Guard) FormKey(principal core.Principal, text string) (Key, error) {
	id, ok := core.ParseID(text)
	if !ok || id.Version() != 7 {
		return Key{}, core.NewError(api.CodeKeyInvalid, "The form has no key. Open it again and send it from there.")
	}
	// The margin of a tenth is for clocks that differ.
	if time.Since(madeAt(id)) > g.Lifetime(principal)*9/10 {
		return Key{}, core.NewError(api.CodeKeyInvalid,
			"The form was opened too long ago to know whether it was sent before. Check whether it took effect; "+
				"if not, send it again from here.")
	}
	return Key{Value: id.String(), Given: true}, nil
}

// FormKeyFor reads the key of a form that does its work for several subjects, and makes the key of one of them: the
// same for every sending of the form, and with the time at which the form was made.
func (g *Guard) FormKeyFor(principal core.Principal, text string, subject uuid.UUID) (Key, error) {
	form, err := g.FormKey(principal, text)
	if err != nil {
		return Key{}, err
	}
	id, digest := uuid.MustParse(form.Value), sha256.Sum256([]byte(form.Value+subject.String()))
	// The first six bytes are the time, the seventh and ninth begin with the version and the variant.
	id[7] = digest[0]
	copy(id[9:], digest[1:])
	return Key{Value: id.String(), Given: true}, nil
}

// madeAt returns the time in an id of version 7.
func madeAt(id uuid.UUID) time.Time {
	return time.Unix(id.Time().UnixTime())
}
