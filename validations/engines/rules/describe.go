package rules

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
	var requirements []engine.Requirement
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
		requirements = append(requirements, engine.RuleRequirement(rule.ID, rule.Message, expression, rule.Severity))
	}
	return requirements
}
