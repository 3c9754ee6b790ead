package main

import (
	"fmt"
	"strings"
	"text/template"
)

// functions are what the templates call.
func functions() template.FuncMap {
	return template.FuncMap{
		"wrap": wrap, "trim": strings.TrimSpace, "comment": comment, "lower": lower, "snake": snake,
		"camel": camel, "pascal": pascal, "goName": goName,
		"method": methodName, "byHand": func(id string) string { return byHand()[id] },
		"Method": func(id string) string { return strings.ToUpper(methodName(id)[:1]) + methodName(id)[1:] },
		"code":   goCode, "goMember": goMember, "goQuery": goQuery, "pyType": pyType, "pyDefault": pyDefault,
		"pySentType": pySentType, "tsType": tsType, "bodyName": bodyName, "filter": filterName,
		"pyName": pyName, "value": func(v string) string { return fmt.Sprintf("%q", v) }, "quoted": quoted,
		"join":   strings.Join,
		"pyPath": func(c call) string { return strings.Replace(c.Path, "{id}", "{segment("+c.Param+")}", 1) },
		"tsPath": func(c call) string { return strings.Replace(c.Path, "{id}", "${segment("+camel(c.Param)+")}", 1) },
		"goPath": func(c call) string {
			return `"` + strings.Replace(c.Path, "{id}", `" + url.PathEscape(id) + "`, 1) + `"`
		},
	}
}

func lower(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToLower(text[:1]) + text[1:]
}

// comment puts lines into a comment of TypeScript.
func comment(lines string) string {
	const width = 120
	short := strings.Replace(lines, "   * ", "  /** ", 1) + " */"
	if !strings.Contains(short, "\n") && len(short) <= width {
		return short
	}
	return "  /**\n" + lines + "\n   */"
}

// quoted lists values as alternatives.
func quoted(values []string, between string) string {
	all := make([]string, 0, len(values))
	for _, v := range values {
		all = append(all, fmt.Sprintf("%q", v))
	}
	return strings.Join(all, between)
}

// bodyName is the last word of the name of a body.
func bodyName(body string) string {
	words := strings.Split(snake(body), "_")
	return words[len(words)-1]
}

// filterName is the name of what narrows a list.
func filterName(c call) string {
	name := methodName(c.ID)
	name = strings.ToUpper(name[:1]) + name[1:]
	if stem, ok := strings.CutSuffix(name, "ies"); ok {
		return stem + "yFilter"
	}
	return strings.TrimSuffix(name, "s") + "Filter"
}

// goCode is the name of the constant of an error code.
func goCode(code string) string {
	return "Code" + pascal(strings.TrimPrefix(code, "idempotency_"))
}

func goType(s Shape) string {
	switch s.Kind {
	case "time":
		return "Time"
	case "long":
		if s.Nullable {
			return "*int64"
		}
		return "int64"
	case "float":
		return "float64"
	case "map":
		return "map[string]any"
	case "list":
		return "[]" + goType(*s.Item)
	case "enum":
		return strings.Replace(s.Ref, "ErrorCode", "Code", 1)
	case "object":
		if s.Nullable {
			return "*" + s.Ref
		}
		return s.Ref
	case "string":
		if s.Nullable {
			return "Optional"
		}
	}
	return s.Kind
}

// goMember is the type and the tag of a member.
func goMember(o object, f field) string {
	kind, option := goType(f.Shape), ""
	if !f.Required {
		option = ",omitempty"
		if o.Sent && (o.Change || f.Default) {
			kind = "*" + kind
		}
	}
	return fmt.Sprintf("%s `json:\"%s%s\"`", kind, f.Name, option)
}

func goQuery(f field) string {
	switch f.Kind {
	case "time":
		return "time.Time"
	case "enum":
		return "api." + goType(f.Shape)
	}
	return goType(f.Shape)
}

func pyType(s Shape) string {
	kind := map[string]string{
		"string": "str", "time": "datetime", "int": "int", "long": "int", "float": "float", "bool": "bool",
		"map": "Dict[str, Any]", "enum": s.Ref, "object": s.Ref,
	}[s.Kind]
	if s.Kind == "list" {
		kind = "List[" + pyType(*s.Item) + "]"
	}
	if s.Nullable || s.Kind == "time" {
		return "Optional[" + kind + "]"
	}
	return kind
}

// pySentType is the type of a member of a request, where what is read only is enough.
func pySentType(s Shape) string {
	return strings.NewReplacer("List[", "Sequence[", "Dict[", "Mapping[").Replace(pyType(s))
}

// pyDefault is the value of a member that a service leaves out.
func pyDefault(all []object, f field) string {
	switch {
	case f.Nullable, f.Kind == "time":
		return " = None"
	case f.Kind == "list", f.Kind == "map":
		return " = field(default_factory=" + strings.Replace(f.Kind, "map", "dict", 1) + ")"
	case f.Kind == "object":
		for _, o := range all {
			if o.Name == f.Ref && o.Members[0].Name == "id" {
				return " = field(default_factory=lambda: " + f.Ref + `(""))`
			}
		}
		return " = field(default_factory=lambda: " + f.Ref + "())"
	case f.Name == "id":
		return ""
	}
	return " = " + map[string]string{
		"string": `""`, "enum": `""`, "int": "0", "long": "0", "float": "0.0", "bool": "False",
	}[f.Kind]
}

// pyName is a name that is no keyword.
func pyName(name string) string {
	if name == "from" {
		return "from_"
	}
	return name
}

func tsType(s Shape) string {
	kind := map[string]string{
		"string": "string", "time": "Time", "int": "number", "long": "number", "float": "number", "bool": "boolean",
		"map": "Record<string, unknown>", "enum": s.Ref, "object": s.Ref,
	}[s.Kind]
	switch {
	case s.Kind == "list" && len(s.Item.Values) > 0:
		kind = "(" + tsType(*s.Item) + ")[]"
	case s.Kind == "list":
		kind = tsType(*s.Item) + "[]"
	case len(s.Values) > 0:
		kind = quoted(s.Values, " | ")
	}
	if s.Nullable {
		kind += " | null"
	}
	return kind
}
