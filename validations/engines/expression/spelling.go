package expression

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common"
)

// symbols are the words and operators of other languages, in lower case, for those of CEL.
var symbols = map[string]string{
	"and": "&&", "or": "||", "===": "==", "!==": "!=", "<>": "!=", "is": "==",
	"none": "null", "nil": "null", "undefined": "null", "null": "null", "true": "true", "false": "false",
}

// spellings are the names of functions in other languages, in lower case, for those that rules have.
var spellings = map[string]string{
	"len": "size", "length": "size", "count": "size", "average": "avg", "math.max": "max", "math.min": "min",
	"date": "timestamp", "datetime": "timestamp", "datetime.fromisoformat": "timestamp",
	"upper": "upperAscii", "touppercase": "upperAscii", "lower": "lowerAscii", "tolowercase": "lowerAscii",
	"strip": "trim", "includes": "contains", "str": "string", "tostring": "string", "float": "double",
	"number": "double", "parsefloat": "double", "parseint": "int", "integer": "int", "ceiling": "ceil",
	"sorted": "sort", "set": "distinct", "unique": "distinct", "every": "all", "some": "exists", "any": "exists",
}

// lexeme is a part of an expression; the group is white space and comments.
var lexeme = regexp.MustCompile(`(?s)((?:\s|//[^\n]*)+)` +
	`|(?:[rR][bB]?|[bB][rR])(?:""".*?"""|'''.*?'''|"[^"\n]*"|'[^'\n]*')` +
	`|[bB]?(?:"""(?:\\.|[^\\])*?"""|'''(?:\\.|[^\\])*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')` +
	"|`[^`]*`" + `|[\pL_][\pL\w]*|\d[\w.]*|[=!]==|[=!<>]=|=>|<>|&&|\|\||.`)

// word is a lexeme with what stands before it, and its place in the expression as it was written.
type word struct {
	space, text string
	at          int
}

func wordsOf(source string) []word {
	var words []word
	space := ""
	for _, m := range lexeme.FindAllStringSubmatchIndex(source, -1) {
		text := source[m[0]:m[1]]
		if m[2] >= 0 {
			space += text
			continue
		}
		words = append(words, word{space, text, m[0]})
		space = ""
	}
	return append(words, word{space, "", len(source)})
}

func joined(words []word) string {
	var b strings.Builder
	for _, w := range words {
		b.WriteString(w.space + w.text)
	}
	return b.String()
}

// locate finds a place in the words where it was in the expression as it was written.
func locate(words []word, source string, found common.Location) common.Location {
	offset, known := common.NewTextSource(joined(words)).LocationOffset(found)
	if !known {
		return found
	}
	start, at, last := 0, 0, utf8.RuneCountInString(source)
	for _, w := range words {
		if start += utf8.RuneCountInString(w.space); start > int(offset) {
			break
		}
		at = utf8.RuneCountInString(source[:w.at]) + min(int(offset)-start, utf8.RuneCountInString(w.text))
		start += utf8.RuneCountInString(w.text)
	}
	// The space keeps the end of the expression on its last line.
	at = min(at, last)
	place, _ := common.NewTextSource(source + " ").OffsetLocation(int32(at)) //nolint:gosec // A rule is short.
	return place
}

// respell writes an expression that CEL does not know in its words. Texts and members keep theirs.
func respell(env *cel.Env, source string) []word {
	words := loops(wordsOf(source))
	for i := range words {
		lower, after := strings.ToLower(words[i].text), textAt(words, i+1)
		dotted := words[i].text + after + textAt(words, i+2)
		switch {
		case lower == "=>":
			arrow(words, i)
		case textAt(words, i-1) == ".":
			if after == "(" {
				words[i].text = function(env, words[i].text)
			}
		case textAt(words, i+3) == "(" && function(env, dotted) != dotted:
			words[i].text, words[i+1].text, words[i+2].text = function(env, dotted), "", ""
		case lower == "new" && after == "Date":
			words[i].text = ""
		case lower == "is" && strings.EqualFold(after, "not"):
			words[i].text, words[i+1].text = "!=", ""
		case lower == "not" && !strings.EqualFold(after, "in"):
			// It binds less than a comparison.
			words[i].text = "!("
			end := next(words, i+1, "and", "or", "&&", "||", ",", "?", ":")
			words[end].space = ")" + words[end].space
		case symbols[lower] != "":
			words[i].text = symbols[lower]
		case after == "(":
			words[i].text = function(env, words[i].text)
		}
	}
	return words
}

func textAt(words []word, i int) string {
	if i < 0 || i >= len(words) {
		return ""
	}
	return words[i].text
}

// function returns what rules call a function that other languages have by this name, or in other case.
func function(env *cel.Env, name string) string {
	if spelled, known := spellings[strings.ToLower(name)]; known && !env.HasFunction(name) {
		return spelled
	}
	for known := range env.Functions() {
		if strings.EqualFold(known, name) {
			return known
		}
	}
	for _, macro := range env.Macros() {
		if strings.EqualFold(macro.Function(), name) {
			return macro.Function()
		}
	}
	return name
}

// next is where one of the words stands from a place on, outside of brackets, or where the brackets around it or the
// expression end.
func next(words []word, from int, texts ...string) int {
	depth := 0
	for i := from; i < len(words)-1; i++ {
		switch text := strings.ToLower(words[i].text); {
		case depth == 0 && textAt(words, i-1) != "." && slices.Contains(texts, text):
			return i
		case text == "(" || text == "[" || text == "{":
			depth++
		case text == ")" || text == "]" || text == "}":
			depth--
			if depth < 0 {
				return i
			}
		}
	}
	return len(words) - 1
}

// arrow writes the function l => x as l, x, and (l, n) => x, which has the index last, as n, l, x.
func arrow(words []word, i int) {
	words[i].text = ","
	if textAt(words, i-1) != ")" {
		return
	}
	switch {
	case textAt(words, i-3) == "(":
		words[i-3].text, words[i-1].text = "", ""
	case textAt(words, i-5) == "(" && words[i-3].text == ",":
		words[i-5].text, words[i-1].text = "", ""
		words[i-4].text, words[i-2].text = words[i-2].text, words[i-4].text
		if textAt(words, i-7) == "map" {
			words[i-7].text = "transformList"
		}
	}
}

// loops writes [f for x in list if c] and sum(f for x in list if c) with the functions of lists.
func loops(words []word) []word {
	for i := len(words) - 2; i >= 0; i-- {
		if words[i].text != "[" && words[i].text != "(" {
			continue
		}
		end, kind := next(words, i+1), "map"
		switch textAt(words, i-1) {
		case "all":
			kind = "all"
		case "any":
			kind = "exists"
		}
		loop := loopOf(words[i+1:end+1], kind)
		if loop == nil {
			continue
		}
		words[i].text, words[end].text = "(", ")"
		if kind != "map" {
			words[i-1].text = ""
		}
		words = slices.Concat(words[:i+1], loop, words[end:])
	}
	return words
}

// loopOf returns the loop within brackets, of which the last word is the closing one, or nil.
func loopOf(words []word, kind string) []word {
	last := len(words) - 1
	at := next(words, 0, "for")
	if at+3 >= last || words[at+2].text != "in" {
		return nil
	}
	inner := next(words, at+3, "for")
	condition := min(inner, next(words, at+3, "if"))
	glue := func(text string) []word { return []word{{text: text, at: words[at].at}} }
	variable := slices.Concat(words[at+1:at+2], glue(","))
	body, flat := words[:at], ")"
	if inner < last {
		if body = loopOf(slices.Concat(body, words[inner:]), kind); kind == "map" {
			flat = ").flatten()"
		}
	}
	if condition < inner {
		around := map[string][2]string{"map": {"(", "), "}, "exists": {"(", ") && "}, "all": {"!(", ") || "}}[kind]
		body = slices.Concat(glue(around[0]), words[condition+1:inner], glue(around[1]+"("), body, glue(")"))
	}
	return slices.Concat(glue("("), words[at+3:condition], glue(")."+kind+"("), variable, body, glue(flat))
}
