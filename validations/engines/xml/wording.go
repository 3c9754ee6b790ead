package xml

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// xmlWording turns the sentences of xmllint into findings in plain words.
type wording struct {
	line     *regexp.Regexp
	subject  *regexp.Regexp
	rephrase []rephrasing
}

// rephrasing is how one sentence of xmllint is said in plain words.
type rephrasing struct {
	sentence *regexp.Regexp
	words    string
}

func newWording() wording {
	w := wording{
		line:    regexp.MustCompile(`^-:(\d+): (?:element (\S+): )?([A-Za-z ]+?) : (.*)$`),
		subject: regexp.MustCompile(`^Element '(?:\{[^}]*\})?([^']*)'(?:, attribute '(?:\{[^}]*\})?([^']*)')?: (.*)$`),
	}
	const (
		facet    = `\[facet '.*'\]`
		identity = `identity-constraint '(?:{.*})?(.*)'`
	)
	for _, pair := range [][2]string{
		{`This element is not expected\. Expected is (?:one of )?\( (.*) \)\.`, `is not expected here, but $1`},
		{`This element is not expected\.`, `is not expected here`},
		{`Missing child element\(s\)\. Expected is (?:one of )?\( (.*) \)\.`, `lacks an element: $1`},
		{`No matching global declaration available for the validation root\.`, `is no root element of the schema`},
		{`The attribute '(.*)' is required but missing\.`, `lacks the attribute $1`},
		{`The attribute '(.*)' is not allowed\.`, `is not allowed`},
		{`Character content .*is not allowed.*`, `may hold no text`},
		{`Element content is not allowed.*`, `may hold no elements`},
		{`\[facet 'pattern'\] The value '(.*)' is not accepted by the pattern '(.*)'\.`, `"$1" does not match $2`},
		{`\[facet 'enumeration'\] The value '(.*)' is not an element of the set \{(.*)\}\.`, `"$1" is not one of $2`},
		{facet + ` The value '(.*)' is less than the minimum value allowed \('(.*)'\)\.`, `$1 is less than $2`},
		{facet + ` The value '(.*)' is greater than the maximum value allowed \('(.*)'\)\.`, `$1 is more than $2`},
		{facet + ` The value '(.*)' must be greater than '(.*)'\.`, `$1 is not more than $2`},
		{facet + ` The value '(.*)' must be less than '(.*)'\.`, `$1 is not less than $2`},
		{
			facet + ` The value .* has a length of '(.*)'; this exceeds .* '(.*)'\.`,
			`has a length of $1, at most $2 allowed`,
		},
		{
			facet + ` The value .* has a length of '(.*)'; this underruns .* '(.*)'\.`,
			`has a length of $1, at least $2 needed`,
		},
		{
			facet + ` The value .* has a length of '(.*)'; this differs from .* '(.*)'\.`,
			`has a length of $1, $2 needed`,
		},
		{`'(.*)' is not a valid value of the atomic type 'xs:(.*)'\.`, `"$1" is no $2`},
		{`'(.*)' is not a valid value of .*`, `"$1" is not a valid value`},
		{`Not all fields of key ` + identity + ` evaluate .*`, `has no valid value for the key $1`},
		{`Duplicate key-sequence (\[.*\]) in .* ` + identity + `\.`, `repeats $1, which the key $2 allows once`},
		{
			`No match found for key-sequence (\[.*\]) of keyref '(?:{.*})?(.*)'\.`,
			`refers by $2 to $1, which is not there`,
		},
	} {
		sentence := regexp.MustCompile("^(?s:" + pair[0] + ")$")
		w.rephrase = append(w.rephrase, rephrasing{sentence: sentence, words: pair[1]})
	}
	return w
}

// read takes one line of output. It answers false where the line is no complaint. What is about an element has no
// message before phrase.
func (w wording) read(line string) (*complaint, bool) {
	found := w.line.FindStringSubmatch(line)
	if found == nil {
		return nil, false
	}
	number, err := strconv.Atoi(found[1])
	if err != nil {
		return nil, false
	}
	one := &complaint{line: number, element: found[2], finding: engine.Failure("xml.schema", "")}
	if !strings.HasPrefix(found[3], "Schemas") {
		one.finding.Code = "xml.malformed"
		one.finding.Message = "not valid XML: " + engine.ClipTo(found[4], engine.MaxMessage)
		return one, true
	}
	if strings.HasSuffix(found[3], "warning") {
		one.finding.Severity = engine.SeverityWarning
	}
	subject := w.subject.FindStringSubmatch(found[4])
	if subject == nil {
		one.finding.Message = engine.ClipTo(found[4], engine.MaxMessage)
		return one, true
	}
	if strings.HasPrefix(subject[3], "Warning: ") {
		// These are about the validator itself, and follow a complaint about the value.
		return nil, false
	}
	one.subject, one.attribute, one.sentence = subject[1], subject[2], subject[3]
	return one, true
}

// phrase fills in the message of a complaint about an element.
func (w wording) phrase(c *complaint) {
	if c.sentence == "" {
		return
	}
	about := "<" + c.subject + ">"
	if c.attribute != "" {
		about = "attribute " + c.attribute + " of " + about
	}
	c.finding.Message = engine.ClipTo(about+" "+w.plain(c.sentence), engine.MaxMessage)
}

func (w wording) plain(sentence string) string {
	for _, r := range w.rephrase {
		if at := r.sentence.FindStringSubmatchIndex(sentence); at != nil {
			words := string(r.sentence.ExpandString(nil, r.words, sentence, at))
			if strings.Contains(sentence, "Expected is") {
				words = regexp.MustCompile(`\{[^}]*\}`).ReplaceAllString(words, "")
			}
			return words
		}
	}
	return strings.TrimSuffix(sentence, ".")
}
