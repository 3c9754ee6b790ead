package schema

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// describeValue says in plain words why a keyword about a value failed, and "" of other keywords.
func describeValue(value any, e *jsonschema.ValidationError) string {
	switch k := e.ErrorKind.(type) {
	case *kind.Type:
		return "want " + strings.Join(k.Want, " or ") + ", got " + k.Got
	case *kind.Enum:
		return show(k.Got) + " is not one of " + showAll(k.Want)
	case *kind.Const:
		return show(k.Got) + " is not " + show(k.Want)
	case *kind.Format:
		if text, ok := k.Got.(string); ok && k.Want == "regex" {
			return notARegex(text, k.Err)
		}
		return show(k.Got) + " is not a valid " + k.Want
	case *kind.Pattern:
		return engine.Quote(k.Got) + " does not match " + engine.Clip(k.Want)
	case *kind.Minimum:
		return literal(value, k.Got) + " is under " + decimal(k.Want)
	case *kind.Maximum:
		return literal(value, k.Got) + " is over " + decimal(k.Want)
	case *kind.ExclusiveMinimum:
		return literal(value, k.Got) + " is not over " + decimal(k.Want)
	case *kind.ExclusiveMaximum:
		return literal(value, k.Got) + " is not under " + decimal(k.Want)
	case *kind.MultipleOf:
		return literal(value, k.Got) + " is not a multiple of " + decimal(k.Want)
	default:
		return ""
	}
}

func notARegex(text string, err error) string {
	return fmt.Sprintf("%s is not a valid regex: %v", engine.Quote(text), err)
}

func describeSize(e *jsonschema.ValidationError) string {
	switch k := e.ErrorKind.(type) {
	case *kind.MinLength:
		return engine.AtLeast(k.Got, k.Want, "character", "characters")
	case *kind.MaxLength:
		return engine.AtMost(k.Got, k.Want, "character", "characters")
	case *kind.MinItems:
		return engine.AtLeast(k.Got, k.Want, "item", "items")
	case *kind.MaxItems:
		return engine.AtMost(k.Got, k.Want, "item", "items")
	case *kind.MinProperties:
		return engine.AtLeast(k.Got, k.Want, "property", "properties")
	case *kind.MaxProperties:
		return engine.AtMost(k.Got, k.Want, "property", "properties")
	case *kind.UniqueItems:
		return fmt.Sprintf("items %d and %d are equal", k.Duplicates[0], k.Duplicates[1])
	case *kind.AdditionalItems:
		return engine.Plural(k.Count, "item", "items") + " too many"
	case *kind.Contains:
		return `no item matches "contains"`
	case *kind.MinContains:
		return fmt.Sprintf("%s \"contains\", at least %d needed", matching(len(k.Got)), k.Want)
	case *kind.MaxContains:
		return fmt.Sprintf("%s \"contains\", at most %d allowed", matching(len(k.Got)), k.Want)
	default:
		return ""
	}
}

func matching(items int) string {
	return engine.Plural(items, "item matches", "items match")
}

func describeForm(e *jsonschema.ValidationError) string {
	switch k := e.ErrorKind.(type) {
	case *kind.AnyOf:
		return "matches none of the allowed forms" + closest(e)
	case *kind.OneOf:
		if len(k.Subschemas) > 1 {
			return fmt.Sprintf("matches forms %d and %d, only one may match", k.Subschemas[0], k.Subschemas[1])
		}
		return "matches none of the allowed forms" + closest(e)
	case *kind.Not:
		return `matches the schema that "not" excludes`
	case *kind.DependentRequired:
		return needs(k.Prop, k.Missing)
	case *kind.Dependency:
		return needs(k.Prop, k.Missing)
	case *kind.RefCycle:
		return "the schema refers to itself endlessly here"
	default:
		return ""
	}
}

// closest describes the alternative that came nearest.
func closest(e *jsonschema.ValidationError) string {
	if len(e.Causes) == 0 {
		return ""
	}
	l := firstLeaf(e)
	if where := engine.Pointer(l.path...); where != "" {
		return "; nearest at " + engine.Clip(where) + ": " + l.message
	}
	return "; nearest: " + l.message
}

func needs(property string, missing []string) string {
	lacking := engine.Clip(strings.Join(missing, "', '"))
	return fmt.Sprintf("property '%s' needs property '%s'", engine.Clip(property), lacking)
}

// show writes a value of a document as JSON.
func show(value any) string {
	switch v := value.(type) {
	case string:
		return engine.Quote(v)
	case json.Number:
		return engine.Clip(v.String())
	case map[string]any:
		return "the object"
	case []any:
		return "the array"
	case nil:
		return "null"
	default:
		return engine.Clip(fmt.Sprint(v))
	}
}

func showAll(values []any) string {
	const most = 10
	shown := []string{}
	for _, value := range values[:min(len(values), most)] {
		if text, ok := value.(string); ok {
			shown = append(shown, engine.Clip(text))
			continue
		}
		shown = append(shown, show(value))
	}
	if more := len(values) - most; more > 0 {
		shown = append(shown, fmt.Sprintf("%d more", more))
	}
	return strings.Join(shown, ", ")
}

// literal is a number as the document has it, or its value where the document is not at hand.
func literal(value any, number *big.Rat) string {
	if written, ok := value.(json.Number); ok {
		return engine.Clip(written.String())
	}
	return decimal(number)
}

// decimal writes a bound with exactly the digits it has.
func decimal(r *big.Rat) string {
	digits, exact := r.FloatPrec()
	if !exact {
		return engine.Clip(r.RatString())
	}
	return engine.Clip(r.FloatString(digits))
}
