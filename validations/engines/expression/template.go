package expression

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// Template is the message of a rule: text with expressions in braces. Doubled braces stand for themselves.
type Template struct {
	parts []templatePart
	// why shows what the condition of a rule without a message compares.
	why *Expression
}

// templatePart is a text, or an expression where there is one.
type templatePart struct {
	text       string
	expression *Expression
}

// messagePart is a doubled brace, an expression, a brace alone or text.
var messagePart = regexp.MustCompile(`\{\{|\}\}|\{[^{}][^}]*\}|\{\}|[{}]|[^{}]+`)

func (c *Rules) template(env *cel.Env, source string) (*Template, error) {
	t := &Template{}
	for _, part := range messagePart.FindAllString(source, -1) {
		switch {
		case part == "{", part == "}":
			return nil, errors.New("a brace has no counterpart; double it to write a brace")
		case part == "{{", part == "}}":
			t.parts = append(t.parts, templatePart{text: part[1:]})
		case part[0] != '{':
			t.parts = append(t.parts, templatePart{text: part})
		default:
			inside := part[1 : len(part)-1]
			compiled, err := c.compile(env, inside)
			if err != nil {
				return nil, fmt.Errorf("in {%s}: %w", engine.Clip(inside), err)
			}
			t.parts = append(t.parts, templatePart{expression: compiled})
		}
	}
	return t, nil
}

// Render fills in the values. What cannot be evaluated is shown as a question mark: the finding matters more.
func (t *Template) Render(ctx context.Context, work *Work, variables map[string]any) (string, error) {
	var b strings.Builder
	for _, part := range t.parts {
		b.WriteString(part.text)
		if part.expression == nil {
			continue
		}
		value, _, reason, err := part.expression.value(ctx, work, variables)
		switch {
		case err != nil:
			return "", err
		case reason != "":
			b.WriteByte('?')
		default:
			b.WriteString(showValue(value, engine.Clip))
		}
	}
	if t.why != nil {
		_, details, _, err := t.why.value(ctx, work, variables)
		if err != nil {
			return "", err
		}
		b.WriteString(t.why.sides(details))
	}
	return engine.ClipTo(b.String(), engine.MaxMessage), nil
}

// Expressions are those whose variables the message needs.
func (t *Template) Expressions() []*Expression {
	found := []*Expression{}
	for _, part := range t.parts {
		if part.expression != nil {
			found = append(found, part.expression)
		}
	}
	return found
}

// showValue shows a value, and a text as the function does.
func showValue(value ref.Val, text func(string) string) string {
	switch v := value.(type) {
	case types.String:
		return text(string(v))
	case types.Double:
		return engine.Clip(strconv.FormatFloat(float64(v), 'f', -1, 64))
	case types.Null:
		return "nothing"
	case traits.Lister:
		return "a list of " + engine.Plural(count(v), "element", "elements")
	case traits.Mapper:
		return "an object"
	default:
		words, _ := value.ConvertToType(types.StringType).(types.String)
		return engine.Clip(string(words))
	}
}
