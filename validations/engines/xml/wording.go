package xml

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
	"github.com/simplevalidations/simplevalidations/validations/engines/program"
	"github.com/simplevalidations/simplevalidations/validations/engines/xmltext"
)

// Patterns of xmllint's lines: the whole of one, what it is about, and a namespace in a name.
var (
	lintLine    = regexp.MustCompile(`^-:(\d+): (?:element (\S+): )?([A-Za-z ]+?) : (.*)$`)
	lintSubject = regexp.MustCompile(
		`^Element '(?:\{([^}]*)\})?([^']*)'(?:, attribute '(?:\{[^}]*\})?([^']*)')?: (.*)$`)
	namespacePrefix = regexp.MustCompile(`\{[^}]*\}`)
)

// rephrasing is how one sentence of xmllint is said in plain words.
type rephrasing struct {
	sentence *regexp.Regexp
	words    string
}

const (
	facet    = `\[facet '.*'\]`
	identity = `identity-constraint '(?:{.*})?(.*)'`
)

// rephrasings are tried in this order.
var rephrasings = []rephrasing{
	say(`This element is not expected\. Expected is (?:one of )?\( (.*) \)\.`, `is not expected here, but $1`),
	say(`This element is not expected\.`, `is not expected here`),
	say(`Missing child element\(s\)\. Expected is (?:one of )?\( (.*) \)\.`, `lacks an element: $1`),
	say(`No matching global declaration available for the validation root\.`, `is not a root element of the schema`),
	say(`The attribute '(.*)' is required but missing\.`, `lacks the attribute $1`),
	say(`The attribute '(.*)' is not allowed\.`, `is not allowed`),
	say(`Character content .*is not allowed.*`, `must not contain text`),
	say(`Element content is not allowed.*`, `must not contain elements`),
	say(`\[facet 'pattern'\] The value '(.*)' is not accepted by the pattern '(.*)'\.`, `"$1" does not match $2`),
	say(`\[facet 'enumeration'\] The value '(.*)' is not an element of the set \{(.*)\}\.`, `"$1" is not one of $2`),
	say(facet+` The value '(.*)' is less than the minimum value allowed \('(.*)'\)\.`, `$1 is less than $2`),
	say(facet+` The value '(.*)' is greater than the maximum value allowed \('(.*)'\)\.`, `$1 is more than $2`),
	say(facet+` The value '(.*)' must be greater than '(.*)'\.`, `$1 is not more than $2`),
	say(facet+` The value '(.*)' must be less than '(.*)'\.`, `$1 is not less than $2`),
	say(
		facet+` The value.* has a length of '(.*)'; this exceeds .* '(.*)'\.`,
		`has a length of $1, at most $2 allowed`,
	),
	say(
		facet+` The value.* has a length of '(.*)'; this underruns .* '(.*)'\.`,
		`has a length of $1, at least $2 needed`,
	),
	say(
		facet+` The value.* has a length of '(.*)'; this differs from .* '(.*)'\.`,
		`has a length of $1, $2 needed`,
	),
	say(`'(.*)' is not a valid value of the atomic type 'xs:(.*)'\.`, `"$1" is not a valid $2`),
	say(`'(.*)' is not a valid value of .*`, `"$1" is not a valid value`),
	say(`Not all fields of key `+identity+` evaluate .*`, `has no valid value for the key $1`),
	say(`Duplicate key-sequence \[(.*)\] in .* `+identity+`\.`, `repeats $1, which the key $2 allows once`),
	say(
		`No match found for key-sequence \[(.*)\] of keyref '(?:{.*})?(.*)'\.`,
		`refers by $2 to $1, which does not exist`,
	),
}

func say(sentence, words string) rephrasing {
	return rephrasing{regexp.MustCompile("^(?s:" + sentence + ")$"), words}
}

// readComplaint takes one line of output. It returns false if the line is not a complaint. A complaint about an element
// has no message before phrase.
func readComplaint(line string) (*complaint, bool) {
	found := lintLine.FindStringSubmatch(line)
	if found == nil {
		return nil, false
	}
	number, _ := strconv.Atoi(found[1]) // They are digits.
	if strings.HasSuffix(found[3], "warning") && !strings.HasPrefix(found[3], "Schemas") {
		// These are opinions on what is allowed, such as a namespace without a scheme.
		return nil, false
	}
	one := &complaint{lintPlace: lintPlace{number, found[2]}, finding: engine.Failure("xml.schema", "")}
	if !strings.HasPrefix(found[3], "Schemas") {
		one.finding.Code = "xml.malformed"
		one.finding.Message = "not valid XML: " + engine.ClipTo(found[4], engine.MaxMessage)
		return one, true
	}
	if strings.HasSuffix(found[3], "warning") {
		one.finding.Severity = engine.SeverityWarning
	}
	subject := lintSubject.FindStringSubmatch(found[4])
	if subject == nil {
		one.finding.Message = engine.ClipTo(found[4], engine.MaxMessage)
		return one, true
	}
	if strings.HasPrefix(subject[4], "Warning: ") {
		// These are about the validator itself, and follow a complaint about the value.
		return nil, false
	}
	one.space, one.subject, one.attribute, one.sentence = subject[1], subject[2], subject[3], subject[4]
	return one, true
}

// goOn adds a line to the sentence of a complaint: a value may have line breaks. What says why stands at the end.
func (c *complaint) goOn(line string) {
	switch {
	case c.sentence == "":
	case c.tail == "" && len(c.sentence)+len(line) < program.MaxKept:
		c.sentence += " " + line
	default:
		c.tail = line
	}
}

// phrase fills in the message of a complaint about an element, by what the schemas say of elements.
func (c *complaint) phrase(schemas *xmltext.Bundle) {
	if c.sentence == "" {
		return
	}
	if c.tail != "" {
		c.sentence += program.CutMark + c.tail
	}
	about := "<" + c.subject + ">"
	if c.attribute != "" {
		about = "attribute " + c.attribute + " of " + about
	}
	words := plainWords(c.sentence)
	if _, others, expects := strings.Cut(c.sentence, "Expected is"); expects {
		only, isOther := strings.CutPrefix(words, "is not expected here, but ")
		if c.space != "" {
			only = strings.TrimPrefix(only, "{"+c.space+"}")
		}
		if strings.Contains(others, "}"+c.subject+" ") {
			// The name alone would not say what is wrong.
			about += " of " + namespaceWords(c.space)
		} else {
			words = namespacePrefix.ReplaceAllString(words, "")
		}
		if isOther && schemas.Lacks(only, c.subject) {
			about, words = "before "+about, "an element "+only+" is missing"
		}
	}
	c.finding.Message = engine.ClipTo(about+" "+words, engine.MaxMessage)
}

func namespaceWords(namespace string) string {
	if namespace == "" {
		return "no namespace"
	}
	return "the namespace " + namespace
}

// maxValue is how much of a long value stands before what is wrong with it, in characters.
const maxValue = 200

func plainWords(sentence string) string {
	for _, r := range rephrasings {
		if at := r.sentence.FindStringSubmatchIndex(sentence); at != nil {
			words := string(r.sentence.ExpandString(nil, r.words, sentence, at))
			if len(at) > 2 && !strings.HasSuffix(r.words, "$1") {
				value := sentence[at[2]:at[3]]
				words = strings.Replace(words, value, engine.ClipTo(value, maxValue), 1)
			}
			return words
		}
	}
	return strings.TrimSuffix(sentence, ".")
}
