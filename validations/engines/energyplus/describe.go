package energyplus

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
	versions := "the model is for a supported version of EnergyPlus"
	if len(c.Versions) > 0 {
		versions = "the model is for EnergyPlus " + strings.Join(c.Versions, ", ")
	}
	promises := []engine.Promise{{Words: versions}}
	for _, classes := range c.RequiredObjects {
		subject := strings.Join(classes, " or ")
		promises = append(promises, engine.Promise{Subject: subject, Words: "the model has an object of this class"})
	}
	for _, rule := range c.Rules {
		promises = append(promises, engine.RulePromise(rule.ID, rule.Message, rule.Assert, rule.Severity))
	}
	return promises
}
