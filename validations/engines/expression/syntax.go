package expression

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// idiom is what people write from other languages, with what is written here. Its first group is the place.
type idiom struct {
	found *regexp.Regexp
	words string
}

// idioms are the signs and words that are looked for. The first one in the expression is reported.
func idioms() []idiom {
	return []idiom{
		sign("‘’“”„«»`", `write texts between straight quotes, as in 'A'`),
		sign(`===`, `"===" is not an operator; use ==`),
		sign(`!==`, `"!==" is not an operator; use !=`),
		sign(`<>`, `"<>" is not an operator; use !=`),
		sign(`=<`, `"=<" is not an operator; use <=`),
		sign(`=>`, `"=>" is not an operator; use >= to compare, and a comma in loops, as in x.all(i, i > 1)`),
		sign(`->`, `"->" is not an operator; loops have a comma, as in x.all(i, i > 1)`),
		sign(`:=`, `":=" is not an operator; use == to compare, and cel.bind(name, value, expression) for a name`),
		sign(`+=`, `an expression changes nothing; use == to compare`),
		sign(`++`, `"++" is not an operator; use + 1`),
		sign(`**`, `there is no operator for powers; write x * x`),
		sign(`??`, `"??" is not an operator; write has(x.name) ? x.name : 0.0`),
		sign(`?.`, `"?." is not an operator; write has(x.name) && x.name > 1.0`),
		sign(`;`, `write one expression; join conditions with &&`),
		sign(`^`, `"^" is not an operator; write x * x for a power, and != for one of two`),
		sign(`~`, `"~" is not an operator; use x.matches('^[A-Z]+$') for patterns`),
		sign(`$`, `names have no "$"; write value.name or doc.name`),
		sign(`@`, `"@" cannot be part of a name here; write value['@name']`),
		sign(`#`, `"#" is not expected here; a comment begins with //`),
		sign(`\`, `"\" is not expected outside of a text`),
		found(`[^\w.](not\s+in)\b`, `"not in" is not an operator; use !(x in list)`),
		found(`[^\w.](is\s+not)\b`, `"is not" is not an operator; use !=`),
		found(`[^\w.](and)\b`, `"and" is not an operator; use &&`),
		found(`[^\w.](or)\b`, `"or" is not an operator; use ||`),
		found(`[^\w.](xor)\b`, `"xor" is not an operator; use !=`),
		found(`[^\w.](not)\b`, `"not" is not an operator; use !`),
		found(`[^\w.](is)\b`, `"is" is not an operator; use ==`),
		found(`[^\w.](between)\b`, `"between" is not an operator; write x >= 1 && x <= 5`),
		found(`[^\w.](like)\b`, `"like" is not an operator; use x.contains('a') or x.matches('^a')`),
		found(`[^\w.](mod)\b`, `"mod" is not an operator; use %`),
		found(`[^\w.](div)\b`, `"div" is not an operator; use /`),
		found(`[^\w.](instanceof|typeof)\b`, `there is no such operator; write type(x) == string`),
		found(`[^\w.](new)\s`, `there is no "new"; a time is timestamp('2026-03-01T06:00:00Z')`),
		found(`[^\w.](then|elif|elsif|case|when|unless|end)\b`, `there is no such word; write condition ? a : b`),
		found(`[^\w.](lambda)\b`, `there is no lambda; write x.map(i, i * 2.0)`),
		found(
			`\w\s+(contains|startsWith|endsWith|matches)\s`,
			`write it as a function of a text, as in x.contains('a')`,
		),
		found(
			`[\w\])}]\s+(for)\b`,
			`write a loop as x.map(i, i * 2.0), x.filter(i, i > 1), x.all(i, i > 1) or x.exists(i, i > 1)`,
		),
		found(
			`[\w\])]\s*\[\s*\w*\s*(:)\s*\w*\s*\]`,
			`write x.slice(1, 3) for a part of a list, x.substring(1, 3) for a part of a text`,
		),
		found(`\bin\s+(\()`, `write a list in brackets, as in x in [1, 2]`),
		found(`[^\w](f|F)["']`, `write 'A %s'.format([x]) to put values into a text`),
		found(`\(\s*(/)`, `write a pattern as a text, as in x.matches('^[a-z]+$')`),
		found(`\d(%)\s*(?:$|[&|)])`, `write a percentage as a fraction, as in 0.05`),
		found(`\d(_\d)`, `write numbers without "_"`),
		found(`[^\w.][A-Za-z_]\w*(\.\d)`, `write the place in a list in brackets, as in x[1]`),
		found(`(\.\*|\*\.)`, `a star is for paths; loop with x.all(i, i > 1)`),
		found(`^\s*(\{)[^:]*\}\s*$`, `braces are for messages; leave them out here`),
		found(`[^&](&)[^&]`, `"&" is not an operator; use &&`),
		found(`[^|](\|)[^|]`, `"|" is not an operator; use ||`),
		found(`[^=!<>](=)[^=]`, `"=" is not an operator; use == to compare`),
	}
}

// sign finds one of the characters, or the whole sign where it is an operator.
func sign(text, words string) idiom {
	pattern := regexp.QuoteMeta(text)
	if utf8.RuneCountInString(text) > 3 {
		pattern = "[" + text + "]"
	}
	return idiom{regexp.MustCompile("(" + pattern + ")"), words}
}

func found(pattern, words string) idiom {
	return idiom{regexp.MustCompile(pattern), words}
}

// unexpected are CEL's messages on what it cannot read, for mistakes that no idiom explains.
func unexpected() []rephrasing {
	return []rephrasing{
		say(`mismatched input '<EOF>' expecting ':'`, `the expression ends without ": value", as in condition ? a : b`),
		say(`.*'<EOF>'.*`, `the expression ends where a value is missing`),
		say(
			`token recognition error at: '(["'].*)'`,
			`the text $1 has a backslash that means nothing; double it, or write r'\d+'`,
		),
		say(
			`(?:mismatched|extraneous) input '(,)' expecting .*`,
			`$1 is not expected here; decimals have a point, as in 1.5`,
		),
		say(`(?:mismatched|extraneous) input '(.*)' expecting .*`, `$1 is not expected here`),
		say(
			`(?:token recognition error at:|no viable alternative at input|missing .* at) '(.*)'`,
			`$1 is not expected here`,
		),
	}
}

// syntaxMistake explains why an expression cannot be read.
func syntaxMistake(c code, at int, message string) (int, string) {
	if c.open >= 0 {
		return c.open, `the text that begins here is not closed; write a quote within a text as \'`
	}
	// The spaces let patterns ask for a character before and behind.
	masked := " " + string(c.masked) + " "
	first, words := -1, ""
	for _, i := range idioms() {
		place := i.found.FindStringSubmatchIndex(masked)
		if len(place) > 0 && (first < 0 || place[2] < first) {
			first, words = place[2], i.words
		}
	}
	if first >= 0 {
		return utf8.RuneCountInString(masked[:first]) - 1, words
	}
	if bracket, words := c.bracket(); bracket >= 0 {
		return bracket, words
	}
	if words, ok := rephrase(unexpected(), message, token); ok {
		return at, words
	}
	return at, "the expression cannot be read from here on"
}

// token quotes a part of an expression, unless it has quotes already.
func token(text string) string {
	if strings.ContainsAny(text, `"'`) {
		return engine.Clip(text)
	}
	return engine.Quote(text)
}
