package random

import (
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/google/uuid"
)

// clockSlack is how far the times of clients and of the database may differ: both are of one machine.
const clockSlack = 20 * time.Millisecond

// effect is what an attempt has done to a key, or has seen of it.
type effect string

const (
	// starts is a run that was started, whether the sender knows it or not.
	starts effect = "starts"
	// replays is the answer that was given before.
	replays effect = "replays"
	// differs is a refusal because the key was used for another document.
	differs effect = "differs"
)

// seen is an attempt as the model of a key takes it.
type seen struct {
	effect   effect
	run      uuid.UUID
	document string
	// call is when the attempt began and end when it ended at the latest. Expires is when the key of the run does.
	call, end, expires time.Time
}

// held is the state of a key: the run that it was used for, and until when it is kept. The zero value is no use of it.
type held struct {
	run      uuid.UUID
	document string
	expires  time.Time
}

// keyModel says in which order attempts with one key can have had their effects. A key is free at first and again when
// it has expired. A free key starts a run; one in use answers as before, or refuses another document.
func keyModel() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return held{} },
		Step: func(state, input, _ any) (bool, any) {
			h, _ := state.(held)
			s, _ := input.(seen)
			switch s.effect {
			case starts:
				free := h.run == uuid.Nil || !s.end.Add(clockSlack).Before(h.expires)
				return free, held{run: s.run, document: s.document, expires: s.expires}
			case replays:
				return h.run == s.run && h.document == s.document && !s.call.Add(-clockSlack).After(h.expires), h
			default:
				return h.run != uuid.Nil && h.document != s.document && !s.call.Add(-clockSlack).After(h.expires), h
			}
		},
	}
}

// linearizable reports whether the attempts with one key can have had their effects one after the other.
func linearizable(all []seen) bool {
	operations := make([]porcupine.Operation, len(all))
	for n, s := range all {
		operations[n] = porcupine.Operation{ClientId: n, Input: s, Call: s.call.UnixNano(), Return: s.end.UnixNano()}
	}
	return porcupine.CheckOperations(keyModel(), operations)
}
