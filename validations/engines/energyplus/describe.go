package energyplus

import (
	"encoding/json"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// Describe says what a step demands of documents.
func Describe(config json.RawMessage) []engine.Requirement {
	var c stepConfig
	if len(engine.DecodeConfig(config, &c)) > 0 {
		return nil
	}
	versions := "the model is for a supported version of EnergyPlus"
	if len(c.Versions) > 0 {
		versions = "the model is for EnergyPlus " + strings.Join(c.Versions, ", ")
	}
	requirements := []engine.Requirement{{Words: versions}}
	for _, classes := range c.RequiredObjects {
		requirements = append(requirements, engine.Requirement{
			Subject: strings.Join(classes, " or "), Words: "the model has an object of this class",
		})
	}
	for _, rule := range c.Rules {
		requirements = append(requirements, engine.RuleRequirement(rule.ID, rule.Message, rule.Assert, rule.Severity))
	}
	return requirements
}
