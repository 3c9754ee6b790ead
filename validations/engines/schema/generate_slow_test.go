//go:build slow

package schema_test

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// generator makes documents that a schema may take, or nearly. It knows the keywords that most schemas have.
type generator struct {
	*rand.Rand
	root any
}

const maxGenerated = 6

func (g *generator) value(schema any, depth int) any {
	rules, ok := schema.(map[string]any)
	if !ok || depth > maxGenerated {
		return g.anything()
	}
	if reference, ok := rules["$ref"].(string); ok {
		return g.value(resolve(g.root, reference), depth+1)
	}
	if value, ok := rules["const"]; ok {
		return value
	}
	if choices, ok := rules["enum"].([]any); ok && len(choices) > 0 {
		return choices[g.IntN(len(choices))]
	}
	for _, keyword := range []string{"examples", "oneOf", "anyOf"} {
		if forms, ok := rules[keyword].([]any); ok && len(forms) > 0 && g.IntN(3) > 0 {
			form := forms[g.IntN(len(forms))]
			if keyword == "examples" {
				return form
			}
			return g.together(rules, form, depth)
		}
	}
	if parts, ok := rules["allOf"].([]any); ok && len(parts) > 0 {
		return g.together(rules, parts[g.IntN(len(parts))], depth)
	}
	switch g.kind(rules) {
	case "object":
		return g.object(rules, depth)
	case "array":
		items := make([]any, g.IntN(3))
		for i := range items {
			items[i] = g.value(rules["items"], depth+1)
		}
		return items
	case "string":
		return g.text(rules)
	case "number", "integer":
		if number, ok := rules["minimum"].(json.Number); ok {
			return number
		}
		return json.Number(strconv.Itoa(g.IntN(5)))
	case "boolean":
		return g.IntN(2) == 0
	case "null":
		return nil
	default:
		return g.anything()
	}
}

// together is a value of a schema and of a part of it; of objects it has the members of both.
func (g *generator) together(rules map[string]any, part any, depth int) any {
	plain := maps.Clone(rules)
	for _, keyword := range []string{"oneOf", "anyOf", "allOf"} {
		delete(plain, keyword)
	}
	value := g.value(part, depth+1)
	object, ok := value.(map[string]any)
	if !ok {
		return value
	}
	if own, ok := g.value(plain, depth+1).(map[string]any); ok {
		maps.Copy(own, object)
		return own
	}
	return object
}

func (g *generator) kind(rules map[string]any) string {
	switch kind := rules["type"].(type) {
	case string:
		return kind
	case []any:
		if name, ok := kind[g.IntN(max(1, len(kind)))].(string); ok {
			return name
		}
	}
	if rules["properties"] != nil || rules["required"] != nil {
		return "object"
	}
	return ""
}

func (g *generator) object(rules map[string]any, depth int) any {
	object := map[string]any{}
	properties, _ := rules["properties"].(map[string]any)
	required, _ := rules["required"].([]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if slices.Contains(required, any(name)) || g.IntN(3+len(properties)/4) == 0 {
			object[name] = g.value(properties[name], depth+1)
		}
	}
	for _, name := range required {
		if text, ok := name.(string); ok && properties[text] == nil && g.IntN(9) > 0 {
			object[text] = g.anything()
		}
	}
	if g.IntN(9) == 0 {
		object["surplus"] = g.anything()
	}
	return object
}

// text is one of texts that formats and patterns tell from each other.
func (g *generator) text(rules map[string]any) any {
	texts := map[any][]string{
		"uri":       {"https://a.example/b?c#d", "a b", "urn:x", "//a"},
		"date-time": {"2026-01-02T03:04:05Z", "2026-01-02", "2026-13-02T03:04:05Z"},
		"date":      {"2026-02-28", "2026-02-30"}, "time": {"12:00:00Z", "25:00:00Z"},
		"email": {"a@b.example", "a@", "@"}, "regex": {"^(?!a)b$", "(", "a**"},
		"uri-reference": {"../a", "a b", "#x"}, "hostname": {"a.example", "-a", "a_b"},
		"ipv4": {"1.2.3.4", "1.2.3"}, "ipv6": {"::1", ":::"}, "uuid": {"123e4567-e89b-12d3-a456-426614174000", "1"},
		"duration": {"P1D", "1D"}, "json-pointer": {"/a", "a"},
	}[rules["format"]]
	if texts == nil {
		texts = strings.Split("|a|A1|abc|1.2.3|^1.0.0|1|-1|a-b_c|a.b|a/b|@a/b|#fff|https://a.example|v1.2|${a}|$(b)|*|"+
			"10s|5m|true|a b|ä|😜|2026-01-02|a:b|[x]|{{ a }}|!a|/a/b", "|")
	}
	return texts[g.IntN(len(texts))]
}

func (g *generator) anything() any {
	values := []any{
		nil, true, json.Number("1"), json.Number("-2.5"), "a", "",
		[]any{},
		[]any{"a"},
		map[string]any{},
		map[string]any{"a": json.Number("1")},
	}
	return values[g.IntN(len(values))]
}

func resolve(root any, reference string) any {
	path, inside := strings.CutPrefix(reference, "#/")
	if !inside {
		return root
	}
	for token := range strings.SplitSeq(path, "/") {
		object, _ := root.(map[string]any)
		root = object[strings.NewReplacer("~1", "/", "~0", "~").Replace(token)]
	}
	return root
}
