package rules

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
	"github.com/simplevalidations/simplevalidations/validations/engines/tree"
)

// operatorCompiler makes an operator of what it compares with. After a fault its result is not used.
type operatorCompiler func(o *operand) operator

// operand is what an operator compares with, while the operator is compiled.
type operand struct {
	compiler  *treeRuleCompiler
	at        string
	raw       json.RawMessage
	tolerance json.RawMessage
	value     any
	// unused says that the operator compares with nothing.
	unused bool
	// depth is how many quantifiers may still nest.
	depth int
}

func (o *operand) parse(raw json.RawMessage, at string) any {
	if len(raw) == 0 {
		return nil
	}
	t, fault := tree.ParseJSON(raw, o.compiler.Limits)
	if fault != nil {
		o.compiler.Fault(at, fault.Message)
		return nil
	}
	return t.Value
}

func (o *operand) fault(detail string) {
	o.compiler.Fault(o.at+"/value", detail)
}

// any is a value of any type, which must be given.
func (o *operand) any() any {
	if len(o.raw) == 0 {
		o.fault("a value is needed")
	}
	return o.value
}

// one is any value as the only one of a list.
func (o *operand) one() []any {
	return []any{o.any()}
}

func (o *operand) number() exact {
	number, ok := o.value.(json.Number)
	if !ok {
		o.fault("a number is needed")
	}
	return newExact(number.String())
}

// approximate is the value and the distance from it that is allowed.
func (o *operand) approximate() (float64, float64) {
	center := o.number()
	tolerance, ok := o.parse(o.tolerance, o.at+"/tolerance").(json.Number)
	if !ok || newExact(tolerance.String()).sign < 0 {
		o.compiler.Fault(o.at+"/tolerance", "a number of 0 or more is needed")
		return 0, 0
	}
	return center.float(), newExact(tolerance.String()).float()
}

func (o *operand) length() int {
	number, _ := o.value.(json.Number)
	length, err := strconv.Atoi(number.String())
	if err != nil || length < 0 {
		o.fault("a whole number of 0 or more is needed")
	}
	return length
}

func (o *operand) text() string {
	text, ok := o.value.(string)
	if !ok {
		o.fault("a string is needed")
	}
	return text
}

// list is a list that is not empty.
func (o *operand) list() []any {
	items, ok := o.value.([]any)
	if !ok || len(items) == 0 {
		o.fault("a list of values is needed")
	}
	return items
}

// numbers are the two ends of a range.
func (o *operand) numbers() (exact, exact) {
	low, high := o.pair("two numbers are needed, the lower one first")
	first, okFirst := low.(json.Number)
	second, okSecond := high.(json.Number)
	from, to := newExact(first.String()), newExact(second.String())
	if okFirst != okSecond || !okFirst && low != nil || from.compare(to) > 0 {
		o.fault("two numbers are needed, the lower one first")
	}
	return from, to
}

func (o *operand) instant() instant {
	text, _ := o.value.(string)
	found, ok := parseInstant(text)
	if !ok {
		o.fault("a date or a date-time is needed, as in 2026-03-01 or 2026-03-01T00:00:00Z")
	}
	return found
}

// period runs from the first instant to the second, a date at its end included as a whole.
func (o *operand) period() (time.Time, time.Time) {
	const detail = "two dates or date-times are needed, the earlier one first"
	low, high := o.pair(detail)
	first, _ := low.(string)
	second, _ := high.(string)
	from, okFirst := parseInstant(first)
	to, okSecond := parseInstant(second)
	if (!okFirst || !okSecond || from.time.After(to.end())) && low != nil {
		o.fault(detail)
	}
	return from.time, to.end()
}

// pair returns nothing after a fault.
func (o *operand) pair(detail string) (any, any) {
	items, ok := o.value.([]any)
	if !ok || len(items) != 2 || items[0] == nil || items[1] == nil {
		o.fault(detail)
		return nil, nil
	}
	return items[0], items[1]
}

func (o *operand) types() []string {
	items, ok := o.value.([]any)
	if !ok {
		items = []any{o.value}
	}
	names := []string{}
	for _, item := range items {
		name, _ := item.(string)
		switch name {
		case "null", "boolean", "integer", "number", "string", "array", "object":
			names = append(names, name)
		default:
			o.fault("use null, boolean, integer, number, string, array or object, or a list of these")
			return nil
		}
	}
	if len(names) == 0 {
		o.fault("a type is needed")
	}
	return names
}

func (o *operand) pattern() engine.Pattern {
	p, err := engine.CompilePattern(o.text(), o.compiler.Limits)
	if err != nil {
		o.fault(err.Error())
	}
	return p
}

// member is the path of what is compared inside of each element, empty for the element itself.
func (o *operand) member() treePath {
	if len(o.raw) == 0 {
		return treePath{}
	}
	return o.single(o.text(), o.at+"/value")
}

// single is a path without a star.
func (o *operand) single(text, at string) treePath {
	path := o.compiler.path(text, at)
	if !path.single() {
		o.compiler.Fault(at, "a path below an element must not contain a star")
	}
	return path
}

// assertion is the operator that is applied to each element, with the path below the element.
func (o *operand) assertion() (treePath, operator) {
	at := o.at + "/value"
	var config assertionConfig
	for _, fault := range engine.DecodeConfig(o.raw, &config) {
		fault.Pointer = at + fault.Pointer
		o.compiler.Faults = append(o.compiler.Faults, fault)
		return treePath{}, nil
	}
	if o.depth <= 1 {
		o.fault(fmt.Sprintf("any, all and none nest at most %d deep", maxQuantifiers))
		return treePath{}, nil
	}
	return o.single(config.Path, at+"/path"), o.compiler.operator(config, at, o.depth-1)
}
