package table

import (
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// Describe says what a step demands of documents.
func Describe(c Config, _ engine.Limits) []engine.Requirement {
	var requirements []engine.Requirement
	add := func(names []string, words string) {
		if len(names) > 0 {
			requirements = append(requirements, engine.Requirement{Subject: strings.Join(names, ", "), Words: words})
		}
	}
	for _, field := range c.Schema.Fields {
		add([]string{field.Name}, field.Words())
	}
	add(engine.TextsOf(c.Schema.PrimaryKey), "unique in every row")
	for _, raw := range c.Schema.UniqueKeys {
		add(engine.TextsOf(raw), "unique in every row that has it")
	}
	for _, key := range c.Schema.ForeignKeys {
		if key.Reference.Resource == "" {
			target := strings.Join(engine.TextsOf(key.Reference.Fields), ", ")
			add(engine.TextsOf(key.Fields), "a value of "+target+" in some row")
		}
	}
	for _, rule := range c.RowRules {
		rule.Assert = engine.Conditional(rule.Assert, rule.When)
		requirements = append(requirements, rule.Requirement())
	}
	for _, rule := range c.DatasetRules {
		requirements = append(requirements, rule.Requirement())
	}
	return requirements
}
