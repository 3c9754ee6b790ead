package requests

import (
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/google/uuid"
)

// ClockSlack is how far the times of clients and of the database may differ: both are of one machine.
const ClockSlack = 20 * time.Millisecond

// Effect is what an attempt has done to a key, or has seen of it.
type Effect string

const (
	// Starts is a run that was started, whether the sender knows it or not.
	Starts Effect = "starts"
	// Replays is the answer that was given before.
	Replays Effect = "replays"
	// Differs is a refusal because the key was used for another document.
	Differs Effect = "differs"
)

// Seen is an attempt as the model of a key takes it.
type Seen struct {
	Effect   Effect
	Run      uuid.UUID
	Document string
	// Call is when the attempt began and End when it ended at the latest. Expires is when the key of the run does.
	Call, End, Expires time.Time
}

// held is the state of a key: the run that it was used for, and until when it is kept. The zero value is no use of it.
type held struct {
	run      uuid.UUID
	document string
	expires  time.Time
}

// keyModel says in which order attempts with one key can have had their effects. A key is free at first and again when
// it has expired. A free key starts a run; one in use answers as before, or refuses another document.
func keyModel(slack time.Duration) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return held{} },
		Step: func(state, input, _ any) (bool, any) {
			h, _ := state.(held)
			s, _ := input.(Seen)
			switch s.Effect {
			case Starts:
				free := h.run == uuid.Nil || !s.End.Add(slack).Before(h.expires)
				return free, held{run: s.Run, document: s.Document, expires: s.Expires}
			case Replays:
				return h.run == s.Run && h.document == s.Document && !s.Call.Add(-slack).After(h.expires), h
			default:
				return h.run != uuid.Nil && h.document != s.Document && !s.Call.Add(-slack).After(h.expires), h
			}
		},
	}
}

// Linearizable reports whether the attempts with one key can have had their effects one after the other.
func Linearizable(all []Seen, slack time.Duration) bool {
	operations := make([]porcupine.Operation, len(all))
	for n, s := range all {
		operations[n] = porcupine.Operation{ClientId: n, Input: s, Call: s.Call.UnixNano(), Return: s.End.UnixNano()}
	}
	return porcupine.CheckOperations(keyModel(slack), operations)
}
