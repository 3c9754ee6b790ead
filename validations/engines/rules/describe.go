package rules

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
	var promises []engine.Promise
	for _, raw := range c.Rules {
		var rule ruleConfig
		if len(engine.DecodeConfig(raw, &rule)) > 0 {
			continue
		}
		expression := rule.Assert
		if rule.Operator != "" {
			expression = strings.TrimSpace(rule.Operator + " " + engine.Plain(rule.Value))
		}
		if rule.Path != "" {
			expression = rule.Path + ": " + expression
		}
		expression = engine.Conditional(expression, rule.When)
		promises = append(promises, engine.RulePromise(rule.ID, rule.Message, expression, rule.Severity))
	}
	return promises
}
