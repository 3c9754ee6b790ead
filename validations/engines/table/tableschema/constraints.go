package tableschema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// bound is a limit with the words that the configuration has for it.
type bound struct {
	value Cell
	kind  boundKind
	words Wording
}

// boundKind is which values a bound refuses, and how that is said.
type boundKind struct {
	name, code, words string
	// sign is that of a comparison with the bound that fails; exclusive says that equality fails, too.
	sign      int
	exclusive bool
}

var boundKinds = []boundKind{
	{"minimum", "csv.minimum", " is less than ", -1, false},
	{"maximum", "csv.maximum", " is more than ", 1, false},
	{"exclusiveMinimum", "csv.minimum", " is not more than ", -1, true},
	{"exclusiveMaximum", "csv.maximum", " is not less than ", 1, true},
}

func (c *Column) compileBound(raw json.RawMessage, kind boundKind, at string) []engine.ConfigError {
	if len(raw) == 0 {
		return nil
	}
	at += "/" + kind.name
	if !c.Kind.isTime() && !slices.Contains([]Type{TypeNumber, TypeInteger, TypeYear}, c.Kind) {
		return engine.Refuse(at, "schema.constraint", "only numbers and times have a minimum and a maximum")
	}
	text := scalarText(raw)
	value := c.literal(text)
	if value.Broken {
		return engine.Refuse(at, "schema.constraint", engine.Quote(text)+" is not of the field's type")
	}
	c.bounds = append(c.bounds, bound{value: value, kind: kind, words: func(c *Column, value Cell) string {
		return c.Name + " " + engine.Clip(value.Text) + kind.words + text
	}})
	return nil
}

// literal reads a value of the configuration: written as in the table, or else as in JSON.
func (c *Column) literal(text string) Cell {
	value := c.Parse(text)
	if value.Broken {
		plain := Column{Kind: c.Kind, trueValues: defaultTrue, falseValues: defaultFalse}
		value = plain.Parse(text)
	}
	return value
}

func (c *Column) compileEnum(raw []json.RawMessage, at string) []engine.ConfigError {
	const most = 1000
	if len(raw) > most {
		return engine.Refuse(at, "schema.constraint", fmt.Sprintf("at most %d values are allowed", most))
	}
	if len(raw) > 0 {
		c.enum = map[string]bool{}
	}
	texts := []string{}
	for i, item := range raw {
		text := scalarText(item)
		value := c.literal(text)
		if value.Broken {
			return engine.Refuse(at+engine.Pointer(strconv.Itoa(i)), "schema.constraint", "is not of the field's type")
		}
		c.enum[string(c.AppendKey(nil, value))] = true
		texts = append(texts, text)
	}
	const shown = 10
	c.enumText = strings.Join(texts[:min(shown, len(texts))], ", ")
	if more := len(texts) - shown; more > 0 {
		c.enumText += fmt.Sprintf(", %d more", more)
	}
	return nil
}

// compileCategories reads the values that a column may have, each with or without a label.
func (c *Column) compileCategories(field Field, at string) []engine.ConfigError {
	if len(field.Categories) == 0 {
		return nil
	}
	at = strings.TrimSuffix(at, "/constraints") + "/categories"
	switch {
	case c.Kind != TypeString && c.Kind != TypeInteger:
		return engine.Refuse(at, "schema.constraint", "only strings and integers have categories")
	case c.enum != nil:
		return engine.Refuse(at, "schema.constraint", "a field has an enum or categories, not both")
	}
	values := engine.Each(field.Categories, func(value labeled) json.RawMessage { return json.RawMessage(value) })
	return c.compileEnum(values, at)
}

// scalarText is a value of the configuration as a cell would have it.
func scalarText(raw json.RawMessage) string {
	var text string
	if err := json.Unmarshal(raw, &text); err == nil {
		return text
	}
	return string(raw)
}

// violations calls found for each constraint that a value breaks. Its error is that of a search in ECMA-262.
func (c *Column) violations(value Cell, found Found) error {
	for i := range c.bounds {
		b := &c.bounds[i]
		order := c.Compare(value, b.value)
		if order == b.kind.sign || order == 0 && b.kind.exclusive {
			found(b.kind.code, value, b.words)
		}
	}
	if c.minLength != nil || c.maxLength != nil {
		c.lengthViolations(value, found)
	}
	if c.pattern != nil {
		if err := c.patternViolation(value, found); err != nil {
			return err
		}
	}
	var key [64]byte
	if c.enum != nil && !c.enum[string(c.AppendKey(key[:0], value))] {
		found("csv.enum", value, func(c *Column, value Cell) string {
			return c.Name + " " + engine.Quote(value.Text) + " is not one of " + c.enumText
		})
	}
	return nil
}

func (c *Column) lengthViolations(value Cell, found Found) {
	length, _, _ := c.size(value)
	if c.minLength != nil && length < *c.minLength {
		found("csv.min_length", value, func(c *Column, value Cell) string {
			length, one, more := c.size(value)
			return c.Name + " " + engine.Quote(value.Text) + " " + engine.AtLeast(length, *c.minLength, one, more)
		})
	}
	if c.maxLength != nil && length > *c.maxLength {
		found("csv.max_length", value, func(c *Column, value Cell) string {
			length, one, more := c.size(value)
			return c.Name + " " + engine.Quote(value.Text) + " " + engine.AtMost(length, *c.maxLength, one, more)
		})
	}
}

// patternViolation looks for the pattern in a value. Its error says that a search has taken too much, so that there is
// no verdict on the table.
func (c *Column) patternViolation(value Cell, found Found) error {
	if c.pattern.Linear != nil && c.pattern.Linear.Work(value.Text) > c.mostWork {
		found("csv.pattern", value, func(c *Column, _ Cell) string {
			return c.Name + " was not evaluated: the pattern costs too much on a text of this length"
		})
		return nil
	}
	matches, err := c.pattern.Match(value.Text)
	if err == nil && !matches {
		found("csv.pattern", value, func(c *Column, value Cell) string {
			return c.Name + " " + engine.Quote(value.Text) + " does not match " + c.patternText
		})
	}
	return err
}
