package engines

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
)

// maxMessage is the length of a message that a rule makes, in characters.
const maxMessage = 500

// template is the message of a rule: text with expressions in braces. Doubled braces stand for themselves.
type template struct {
	parts []templatePart
}

// templatePart is a text, or an expression where there is one.
type templatePart struct {
	text       string
	expression *expression
}

func compileTemplate(env *cel.Env, source string, limits Limits) (*template, error) {
	t := &template{}
	text := strings.Builder{}
	for rest := source; rest != ""; {
		at := strings.IndexAny(rest, "{}")
		if at < 0 {
			text.WriteString(rest)
			break
		}
		text.WriteString(rest[:at])
		if at+1 < len(rest) && rest[at+1] == rest[at] {
			text.WriteByte(rest[at])
			rest = rest[at+2:]
			continue
		}
		end := strings.IndexByte(rest, '}')
		if rest[at] == '}' || end < 0 {
			return nil, errors.New("a brace is not closed or not opened; write it twice to mean itself")
		}
		compiled, err := compileExpression(env, rest[at+1:end], limits)
		if err != nil {
			return nil, err
		}
		t.parts = append(t.parts, templatePart{text: text.String()}, templatePart{expression: compiled})
		text.Reset()
		rest = rest[end+1:]
	}
	t.parts = append(t.parts, templatePart{text: text.String()})
	return t, nil
}

// render fills in the values. What cannot be evaluated is shown as a question mark: the finding matters more.
func (t *template) render(ctx context.Context, variables map[string]any) (string, error) {
	var b strings.Builder
	for _, part := range t.parts {
		b.WriteString(part.text)
		if part.expression == nil {
			continue
		}
		value, reason, err := part.expression.value(ctx, variables)
		switch {
		case err != nil:
			return "", err
		case reason != "":
			b.WriteByte('?')
		default:
			b.WriteString(showValue(value))
		}
	}
	return clipTo(b.String(), maxMessage), nil
}

// expressions are those whose variables the message needs.
func (t *template) expressions() []*expression {
	found := []*expression{}
	for _, part := range t.parts {
		if part.expression != nil {
			found = append(found, part.expression)
		}
	}
	return found
}

func showValue(value ref.Val) string {
	switch v := value.(type) {
	case types.String:
		return clip(string(v))
	case types.Double:
		return strconv.FormatFloat(float64(v), 'f', -1, 64)
	case types.Null:
		return "nothing"
	default:
		text, ok := value.ConvertToType(types.StringType).(types.String)
		if !ok {
			return "?"
		}
		return clip(string(text))
	}
}
