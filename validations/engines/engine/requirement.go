package engine

import "encoding/json"

// Requirement is one thing that a step demands of documents, for people to read.
type Requirement struct {
	// Subject is what the demand is about: a column, a place, or the id of a rule.
	Subject string
	// Words say what is demanded, and Expression is the rule itself; one of them is there.
	Words      string
	Expression string
	// Otherwise is what the rule says of a document that does not keep it, with its placeholders.
	Otherwise string
	Severity  Severity
}

// Conditional adds to an expression when it has to hold.
func Conditional(expression, when string) string {
	if when == "" {
		return expression
	}
	return expression + ", where " + when
}

// TextsOf reads a text or a list of texts.
func TextsOf(value json.RawMessage) []string {
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

// Plain is a value as people write it.
func Plain(value json.RawMessage) string {
	if texts := TextsOf(value); len(texts) == 1 {
		return texts[0]
	}
	return string(value)
}
