package engine

import "encoding/json"

// Inferred is a first configuration of a step, made from a sample of the documents that it is to check.
type Inferred struct {
	Config json.RawMessage
	// Notes are what else was seen in the sample, by the JSON pointer of the value that each is about.
	Notes map[string]string
}
