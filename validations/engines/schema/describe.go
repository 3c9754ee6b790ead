package schema

import (
	"encoding/json"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// Describe says what a step demands of documents.
func Describe(config json.RawMessage) []engine.Promise {
	var c stepConfig
	if len(engine.DecodeConfig(config, &c)) > 0 {
		return nil
	}
	// Other schemas have none of these members and get no promise.
	var schema struct {
		Title       string          `json:"title"`
		Description string          `json:"description"`
		Required    json.RawMessage `json:"required"`
	}
	_ = json.Unmarshal(c.Schema, &schema)
	promise := engine.Promise{
		Subject: schema.Title, Words: "the document matches the schema", Severity: engine.SeverityError,
	}
	if schema.Description != "" {
		promise.Words += ": " + schema.Description
	}
	promises := []engine.Promise{promise}
	if required := engine.TextsOf(schema.Required); len(required) > 0 {
		promises = append(promises, engine.Promise{Subject: strings.Join(required, ", "), Words: "always there"})
	}
	return promises
}
