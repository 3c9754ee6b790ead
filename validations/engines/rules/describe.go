package rules

import (
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// Describe says what a step demands of documents.
func Describe(c Config, _ engine.Limits) []engine.Requirement {
	var requirements []engine.Requirement
	for _, raw := range c.Rules {
		var rule ruleConfig
		if len(engine.DecodeConfig(raw, &rule)) > 0 {
			continue
		}
		if rule.Operator != "" {
			rule.Assert = strings.TrimSpace(rule.Operator + " " + engine.Plain(rule.Value))
		}
		if rule.Path != "" {
			rule.Assert = rule.Path + ": " + rule.Assert
		}
		rule.Assert = engine.Conditional(rule.Assert, rule.When)
		requirements = append(requirements, rule.Requirement())
	}
	return requirements
}
