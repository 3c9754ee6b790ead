package table

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
	for _, field := range c.Schema.Fields {
		promises = append(promises, engine.Promise{Subject: field.Name, Words: field.words()})
	}
	if key := engine.TextsOf(c.Schema.PrimaryKey); len(key) > 0 {
		promises = append(promises, engine.Promise{
			Subject: strings.Join(key, ", "), Words: "unique in every row",
		})
	}
	for _, raw := range c.Schema.UniqueKeys {
		promises = append(promises, engine.Promise{
			Subject: strings.Join(engine.TextsOf(raw), ", "), Words: "unique in every row that has it",
		})
	}
	for _, key := range c.Schema.ForeignKeys {
		if key.Reference.Resource == "" {
			target := strings.Join(engine.TextsOf(key.Reference.Fields), ", ")
			promises = append(promises, engine.Promise{
				Subject: strings.Join(engine.TextsOf(key.Fields), ", "), Words: "a value of " + target + " in some row",
			})
		}
	}
	for _, rule := range c.RowRules {
		assert := engine.Conditional(rule.Assert, rule.When)
		promises = append(promises, engine.RulePromise(rule.ID, rule.Message, assert, rule.Severity))
	}
	for _, rule := range c.DatasetRules {
		promises = append(promises, engine.RulePromise(rule.ID, rule.Message, rule.Assert, rule.Severity))
	}
	return promises
}

// words say what a column demands of its cells.
func (f fieldConfig) words() string {
	words := []string{f.Type}
	if f.Type == "" {
		words[0] = "any value"
	}
	c := f.Constraints
	for _, part := range []struct {
		there bool
		words string
	}{
		{c.Required, "never empty"},
		{c.Unique, "each value once"},
		{len(c.Minimum) > 0, "at least " + engine.Plain(c.Minimum)},
		{len(c.Maximum) > 0, "at most " + engine.Plain(c.Maximum)},
		{len(c.ExclusiveMinimum) > 0, "more than " + engine.Plain(c.ExclusiveMinimum)},
		{len(c.ExclusiveMaximum) > 0, "less than " + engine.Plain(c.ExclusiveMaximum)},
		{c.Pattern != "", "like " + c.Pattern},
		{len(c.Enum) > 0, "one of " + strings.Join(allPlain(c.Enum), ", ")},
	} {
		if part.there {
			words = append(words, part.words)
		}
	}
	return strings.Join(words, ", ")
}

func allPlain(values []json.RawMessage) []string {
	var texts []string
	for _, value := range values {
		texts = append(texts, engine.Plain(value))
	}
	return texts
}
