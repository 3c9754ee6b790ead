package schema

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
	"github.com/simplevalidations/simplevalidations/validations/engines/tree"
)

// maxChoices is how many texts a place may have that looks like a list of choices, and enoughValues how often it must
// occur to show it.
const (
	maxChoices   = 12
	enoughValues = 20
)

// shape is what is known of the values at one place of a sample; those of all items of a list are at one place.
type shape struct {
	types      map[string]int
	values     int
	properties map[string]*shape
	items      *shape
	choices    map[string]bool
	low, high  json.Number
}

// Infer proposes a schema from a sample. Its error is a failure to read, or what is wrong with the sample.
func Infer(_ context.Context, doc engine.Document, limits engine.Limits) (engine.Inferred, error) {
	t, fault, err := tree.Read(doc, limits)
	if err != nil {
		return engine.Inferred{}, err
	}
	if fault != nil {
		return engine.Inferred{}, fmt.Errorf("line %d, column %d: %s", fault.Line, fault.Column, fault.Message)
	}
	root := newShape()
	root.add(t.Value)
	notes := map[string]string{}
	config := map[string]any{"schema": root.schema("/schema", notes)}
	text, err := json.Marshal(config)
	if err != nil {
		return engine.Inferred{}, fmt.Errorf("write a schema: %w", err)
	}
	if len(text) > limits.MaxSchemaBytes {
		return engine.Inferred{}, errors.New("the sample has too many different members for a schema")
	}
	return engine.Inferred{Config: text, Notes: notes}, nil
}

func newShape() *shape {
	return &shape{types: map[string]int{}, properties: map[string]*shape{}, choices: map[string]bool{}}
}

func (s *shape) add(value any) {
	s.values++
	switch v := value.(type) {
	case nil:
		s.types["null"]++
	case bool:
		s.types["boolean"]++
	case string:
		s.types["string"]++
		if len(s.choices) <= maxChoices {
			s.choices[v] = true
		}
	case json.Number:
		s.addNumber(v)
	case []any:
		s.types["array"]++
		if s.items == nil {
			s.items = newShape()
		}
		for _, item := range v {
			s.items.add(item)
		}
	case map[string]any:
		s.types["object"]++
		for name, member := range v {
			if s.properties[name] == nil {
				s.properties[name] = newShape()
			}
			s.properties[name].add(member)
		}
	}
}

func (s *shape) addNumber(v json.Number) {
	kind := "number"
	if !strings.ContainsAny(v.String(), ".eE") {
		kind = "integer"
	}
	s.types[kind]++
	number, err := v.Float64()
	if err != nil {
		return
	}
	if low, err := s.low.Float64(); err != nil || number < low {
		s.low = v
	}
	if high, err := s.high.Float64(); err != nil || number > high {
		s.high = v
	}
}

// schema writes the schema of a place, and what else was seen there as notes.
func (s *shape) schema(at string, notes map[string]string) map[string]any {
	written := map[string]any{}
	kinds := s.kinds()
	switch len(kinds) {
	case 0:
		return written
	case 1:
		written["type"] = kinds[0]
	default:
		written["type"] = kinds
	}
	if note := s.note(); note != "" {
		notes[at+"/type"] = note
	}
	if s.items != nil && s.items.values > 0 {
		written["items"] = s.items.schema(at+"/items", notes)
	}
	if s.types["object"] == 0 {
		return written
	}
	properties, required := map[string]any{}, []string{}
	for _, name := range slices.Sorted(maps.Keys(s.properties)) {
		member := s.properties[name]
		properties[name] = member.schema(at+"/properties"+engine.Pointer(name), notes)
		if member.values == s.types["object"] {
			required = append(required, name)
		}
	}
	written["properties"] = properties
	if len(required) > 0 {
		written["required"] = required
	}
	return written
}

func (s *shape) kinds() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(s.types)), func(kind string) bool {
		return kind == "integer" && s.types["number"] > 0
	})
}

func (s *shape) note() string {
	var notes []string
	if len(s.properties) > 0 {
		notes = append(notes, "add additionalProperties: false to refuse other members")
	}
	if s.low != s.high {
		notes = append(notes, fmt.Sprintf("from %s to %s", s.low, s.high))
	}
	if s.types["string"] >= enoughValues && len(s.choices) <= maxChoices {
		choices := slices.Sorted(maps.Keys(s.choices))
		notes = append(notes, "one of "+engine.ClipTo(strings.Join(choices, ", "), engine.MaxMessage))
	}
	return strings.Join(notes, "; ")
}
