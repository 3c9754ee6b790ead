package expression

import (
	"regexp"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// rephrasing is how one kind of message of CEL is said in plain words.
type rephrasing struct {
	message *regexp.Regexp
	words   string
}

// rephrasings are tried in this order. CEL lists tokens of its grammar and signatures of its functions, and does not
// know what people are used to write in other languages.
var rephrasings = []rephrasing{
	say(
		`found no matching overload for '_(\S+)_' applied to '\((?:double, int|int, double)\)'`,
		`$1 does not take a decimal and a whole number; write whole numbers with a point, as in 2.0`,
	),
	say(`found no matching overload for '_(\S+)_' applied to '\((\S+), (\S+)\)'`, `$1 does not take $2 and $3`),
	say(
		`Syntax error: mismatched input '<EOF>' expecting .*`,
		`the expression ends where a value or a bracket is missing`,
	),
	say(`Syntax error: missing '(.)' at '<EOF>'`, `the expression ends without the closing $1`),
	say(`Syntax error: mismatched input 'and' expecting .*`, `"and" is no operator; use &&`),
	say(`Syntax error: mismatched input 'or' expecting .*`, `"or" is no operator; use ||`),
	say(`Syntax error: mismatched input 'is' expecting .*`, `"is" is no operator; use ==`),
	say(`Syntax error: (?:mismatched|extraneous) input '(.*)' expecting .*`, `"$1" is not expected here`),
	say(`Syntax error: token recognition error at: '=.*`, `"=" is no operator; use == to compare`),
	say(`Syntax error: token recognition error at: '(["'].*)'`, `the text $1 is not closed`),
	say(`Syntax error: token recognition error at: '(.*)'`, `"$1" is not expected here`),
	say(`undeclared reference to '(now|today)'.*`, `there is no $1: a rule has no clock`),
	say(`undeclared reference to '(?:len|length|count)'.*`, `there is no such function; use size`),
	say(`undeclared reference to '(?:None|nil|NULL|undefined)'.*`, `there is no such value; use null`),
	say(`undeclared reference to '(True|TRUE|False|FALSE)'.*`, `there is no $1; use true or false`),
	say(`undeclared reference to '(.*?)'.*`, `there is no variable or function $1 here`),
}

func say(message, words string) rephrasing {
	return rephrasing{regexp.MustCompile(`^(?s:` + message + `)$`), words}
}

// plainWords says a message of CEL in plain words.
func plainWords(message string) string {
	for _, r := range rephrasings {
		if at := r.message.FindStringSubmatchIndex(message); at != nil {
			message = string(r.message.ExpandString(nil, r.words, message, at))
			break
		}
	}
	return engine.ClipTo(message, 2*engine.MaxQuoted)
}
