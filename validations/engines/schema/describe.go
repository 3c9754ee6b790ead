package schema

import (
	"encoding/json"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// Describe says what a step demands of documents.
func Describe(c Config, _ engine.Limits) []engine.Requirement {
	// Other schemas have none of these members and get no requirement.
	var schema struct {
		Title       string          `json:"title"`
		Description string          `json:"description"`
		Required    json.RawMessage `json:"required"`
	}
	_ = json.Unmarshal(c.Schema, &schema)
	whole := engine.Requirement{
		Subject: schema.Title, Words: "the document matches the schema", Severity: engine.SeverityError,
	}
	if schema.Description != "" {
		whole.Words += ": " + schema.Description
	}
	requirements := []engine.Requirement{whole}
	if required := engine.TextsOf(schema.Required); len(required) > 0 {
		always := engine.Requirement{Subject: strings.Join(required, ", "), Words: "always there"}
		requirements = append(requirements, always)
	}
	return requirements
}
