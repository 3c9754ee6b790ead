package engines

import (
	"encoding/json"
	"strings"
)

// Promise is one thing that a step demands of documents, for people to read.
type Promise struct {
	// Subject is what the demand is about: a column, a place, or the id of a rule.
	Subject string
	// Words say what is demanded, and Expression is the rule itself; one of them is there.
	Words      string
	Expression string
	// Otherwise is what the rule says of a document that does not keep it, with its placeholders.
	Otherwise string
	Severity  Severity
}

func describeTable(config json.RawMessage) []Promise {
	var c tableConfig
	if len(decodeConfig(config, &c)) > 0 {
		return nil
	}
	var promises []Promise
	for _, field := range c.Schema.Fields {
		promises = append(promises, Promise{Subject: field.Name, Words: field.words()})
	}
	if key := textsOf(c.Schema.PrimaryKey); len(key) > 0 {
		promises = append(promises, Promise{
			Subject: strings.Join(key, ", "), Words: "no two rows have the same",
		})
	}
	for _, rule := range c.RowRules {
		promises = append(promises, ruleOf(rule.ID, rule.Message, conditional(rule.Assert, rule.When), rule.Severity))
	}
	for _, rule := range c.DatasetRules {
		promises = append(promises, ruleOf(rule.ID, rule.Message, rule.Assert, rule.Severity))
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
		{len(c.Minimum) > 0, "at least " + plain(c.Minimum)},
		{len(c.Maximum) > 0, "at most " + plain(c.Maximum)},
		{c.Pattern != "", "like " + c.Pattern},
		{len(c.Enum) > 0, "one of " + strings.Join(allPlain(c.Enum), ", ")},
	} {
		if part.there {
			words = append(words, part.words)
		}
	}
	return strings.Join(words, ", ")
}

func describeRules(config json.RawMessage) []Promise {
	var c rulesConfig
	if len(decodeConfig(config, &c)) > 0 {
		return nil
	}
	var promises []Promise
	for _, raw := range c.Rules {
		var rule ruleConfig
		if len(decodeConfig(raw, &rule)) > 0 {
			continue
		}
		expression := rule.Assert
		if rule.Operator != "" {
			expression = strings.TrimSpace(rule.Operator + " " + plain(rule.Value))
		}
		if rule.Path != "" {
			expression = rule.Path + ": " + expression
		}
		promises = append(promises, ruleOf(rule.ID, rule.Message, conditional(expression, rule.When), rule.Severity))
	}
	return promises
}

func describeSchema(config json.RawMessage) []Promise {
	var c schemaConfig
	if len(decodeConfig(config, &c)) > 0 {
		return nil
	}
	// What is not an object has none of these, and then nothing is said of it.
	var schema struct {
		Title       string          `json:"title"`
		Description string          `json:"description"`
		Required    json.RawMessage `json:"required"`
	}
	_ = json.Unmarshal(c.Schema, &schema)
	promise := Promise{Subject: schema.Title, Words: "the document matches the schema", Severity: SeverityError}
	if schema.Description != "" {
		promise.Words += ": " + schema.Description
	}
	promises := []Promise{promise}
	if required := textsOf(schema.Required); len(required) > 0 {
		promises = append(promises, Promise{Subject: strings.Join(required, ", "), Words: "always there"})
	}
	return promises
}

func describeXML(config json.RawMessage) []Promise {
	var c xmlConfig
	if len(decodeConfig(config, &c)) > 0 {
		return nil
	}
	promises := []Promise{{Words: "the document is well-formed XML"}}
	if c.Schema != "" {
		promises = append(promises, Promise{Words: "it is valid by the XML Schema of this step"})
	}
	return promises
}

func describeEnergyPlus(config json.RawMessage) []Promise {
	var c energyPlusConfig
	if len(decodeConfig(config, &c)) > 0 {
		return nil
	}
	versions := "the model is for a version of EnergyPlus that is supported"
	if len(c.Versions) > 0 {
		versions = "the model is for EnergyPlus " + strings.Join(c.Versions, ", ")
	}
	promises := []Promise{{Words: versions}}
	for _, classes := range c.RequiredObjects {
		promises = append(promises, Promise{Subject: strings.Join(classes, " or "), Words: "there is an object of it"})
	}
	for _, rule := range c.Rules {
		promises = append(promises, ruleOf(rule.ID, rule.Message, rule.Assert, rule.Severity))
	}
	return promises
}

func describeHTTP(config json.RawMessage) []Promise {
	var c httpConfig
	if len(decodeConfig(config, &c)) > 0 {
		return nil
	}
	return []Promise{{Subject: c.URL, Words: "this service finds no errors in the document"}}
}

func ruleOf(id, message, expression string, severity Severity) Promise {
	return Promise{Subject: id, Expression: expression, Otherwise: message, Severity: severity}
}

// conditional adds to an expression when it has to hold.
func conditional(expression, when string) string {
	if when == "" {
		return expression
	}
	return expression + ", where " + when
}

// textsOf reads a text or a list of texts.
func textsOf(value json.RawMessage) []string {
	var one string
	if json.Unmarshal(value, &one) == nil {
		return []string{one}
	}
	var many []string
	if json.Unmarshal(value, &many) != nil {
		return nil
	}
	return many
}

// plain is a value as people write it.
func plain(value json.RawMessage) string {
	if texts := textsOf(value); len(texts) == 1 {
		return texts[0]
	}
	return string(value)
}

func allPlain(values []json.RawMessage) []string {
	var texts []string
	for _, value := range values {
		texts = append(texts, plain(value))
	}
	return texts
}
