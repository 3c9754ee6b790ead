package ecma

import (
	"fmt"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// parser reads an expression.
type parser struct {
	source []rune
	at     int
	// strict reads by the Unicode mode. Without it, some characters need no backslash, and some may have one.
	strict bool
	// checking leaves the sets of properties empty, which are large.
	checking bool
	groups   int
	names    map[string]int
	// references are resolved when all groups are known.
	references []*reference
}

type syntaxError struct {
	at     int
	detail string
}

func (e *syntaxError) Error() string {
	return fmt.Sprintf("at character %d: %s", e.at+1, e.detail)
}

// parse returns an expression as a tree, and the number of its groups.
func parse(source string, strict bool) (any, int, error) {
	p := &parser{source: []rune(source), strict: strict, names: map[string]int{}}
	tree, err := p.all()
	return tree, p.groups, err
}

func (p *parser) all() (any, error) {
	tree, err := p.alternatives()
	if err != nil {
		return nil, err
	}
	if p.at < len(p.source) {
		return nil, p.fault("this ) closes no group")
	}
	for _, r := range p.references {
		if r.name != "" {
			r.number = p.names[r.name]
		}
		if r.number == 0 || r.number > p.groups {
			return nil, &syntaxError{r.at, "there is no such group to refer to"}
		}
	}
	return tree, nil
}

func (p *parser) fault(detail string) error {
	return &syntaxError{p.at, detail}
}

// next returns the next character, -1 at the end.
func (p *parser) next() rune {
	return p.ahead(0)
}

func (p *parser) ahead(n int) rune {
	if p.at+n >= len(p.source) {
		return -1
	}
	return p.source[p.at+n]
}

// take skips a text if it is the next.
func (p *parser) take(text string) bool {
	runes := []rune(text)
	if len(p.source)-p.at < len(runes) || string(p.source[p.at:p.at+len(runes)]) != text {
		return false
	}
	p.at += len(runes)
	return true
}

func (p *parser) alternatives() (any, error) {
	var all alternatives
	for {
		one, err := p.sequence()
		if err != nil {
			return nil, err
		}
		all = append(all, one)
		if !p.take("|") {
			break
		}
	}
	if len(all) == 1 {
		return all[0], nil
	}
	return all, nil
}

func (p *parser) sequence() (any, error) {
	parts := sequence{}
	for p.at < len(p.source) && p.next() != '|' && p.next() != ')' {
		first := p.groups + 1
		part, repeatable, err := p.term()
		if err != nil {
			return nil, err
		}
		if part, err = p.quantified(part, repeatable, first); err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	return parts, nil
}

// term reads one part, and says whether it may be repeated.
func (p *parser) term() (any, bool, error) {
	for _, a := range []struct {
		written string
		node    assertion
	}{{"^", atBegin}, {"$", atEnd}, {`\b`, atWordEdge}, {`\B`, inWord}} {
		if p.take(a.written) {
			return a.node, false, nil
		}
	}
	switch {
	case p.take("."):
		return newSet(others(lineEnds())...), true, nil
	case p.next() == '(':
		return p.bracketed()
	case p.take("["):
		s, err := p.class()
		return s, true, err
	case p.take(`\`):
		part, err := p.escape()
		return part, true, err
	default:
		return p.literal()
	}
}

// literal reads a character that stands for itself.
func (p *parser) literal() (any, bool, error) {
	c := p.next()
	switch {
	case strings.ContainsRune("*+?", c) || c == '{' && p.isQuantifier():
		return nil, false, p.fault("there is nothing to repeat")
	case strings.ContainsRune("{}]", c) && p.strict:
		return nil, false, p.fault(fmt.Sprintf("a single %c needs a backslash", c))
	default:
		p.at++
		return newSet(span{c, c}), true, nil
	}
}

func (p *parser) bracketed() (any, bool, error) {
	opened := p.at
	for _, kind := range []struct {
		begin            string
		behind, negative bool
	}{{"(?=", false, false}, {"(?!", false, true}, {"(?<=", true, false}, {"(?<!", true, true}} {
		if p.take(kind.begin) {
			body, err := p.body(opened)
			// Annex B lets an assertion about what follows be repeated.
			return &look{body, kind.behind, kind.negative}, !p.strict && !kind.behind, err
		}
	}
	if p.take("(?:") {
		body, err := p.body(opened)
		return body, true, err
	}
	p.groups++
	number := p.groups
	switch {
	case p.take("(?<"):
		name, err := p.name()
		if err != nil {
			return nil, false, err
		}
		if p.names[name] > 0 {
			return nil, false, p.fault("two groups have the name " + engine.Quote(name))
		}
		p.names[name] = number
	case p.take("(?"):
		return nil, false, p.fault("there is no group of this kind")
	default:
		p.at++
	}
	body, err := p.body(opened)
	return &group{number, body}, true, err
}

func (p *parser) body(opened int) (any, error) {
	body, err := p.alternatives()
	if err == nil && !p.take(")") {
		err = &syntaxError{opened, "this ( is never closed"}
	}
	return body, err
}

// name reads the name of a group and the > behind it.
func (p *parser) name() (string, error) {
	begin := p.at
	for p.at < len(p.source) && isNameCharacter(p.next(), p.at > begin) {
		p.at++
	}
	name := string(p.source[begin:p.at])
	if name == "" || !p.take(">") {
		return "", p.fault("the name of a group is letters and digits, and ends with >")
	}
	return name, nil
}

func isNameCharacter(c rune, further bool) bool {
	digit := c >= '0' && c <= '9'
	return c == '$' || c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c > maxASCII || digit && further
}

// maxCount bounds how often something may be repeated; larger numbers are read as this one.
const maxCount = 1 << 30

// quantified reads how often a part is repeated.
func (p *parser) quantified(part node, repeatable bool, first int) (any, error) {
	begin := p.at
	found, err := p.quantifier()
	if err != nil || found == nil {
		return part, err
	}
	if !repeatable {
		p.at = begin
		return nil, p.fault("there is nothing to repeat")
	}
	found.body, found.greedy, found.first, found.last = part, !p.take("?"), first, p.groups
	return found, nil
}

// quantifier reads the bounds of a repetition. It returns nil if nothing is repeated.
func (p *parser) quantifier() (*repeat, error) {
	switch {
	case p.take("*"):
		return &repeat{least: 0, most: unbounded}, nil
	case p.take("+"):
		return &repeat{least: 1, most: unbounded}, nil
	case p.take("?"):
		return &repeat{least: 0, most: 1}, nil
	case p.next() != '{' || !p.isQuantifier():
		return nil, nil //nolint:nilnil // a missing quantifier is not a fault
	}
	p.at++
	least, _ := p.count()
	most := least
	if p.take(",") {
		most = unbounded
		if given, ok := p.count(); ok {
			most = given
		}
	}
	p.take("}")
	if most != unbounded && most < least {
		return nil, p.fault("the numbers in {} are out of order")
	}
	return &repeat{least: least, most: most}, nil
}

// isQuantifier reports whether the { that is next begins numbers.
func (p *parser) isQuantifier() bool {
	begin := p.at
	defer func() { p.at = begin }()
	p.at++
	if _, ok := p.count(); !ok {
		return false
	}
	if p.take(",") {
		p.count()
	}
	return p.next() == '}'
}

func (p *parser) count() (int, bool) {
	begin, number := p.at, 0
	for ; p.next() >= '0' && p.next() <= '9'; p.at++ {
		number = min(number*10+int(p.next()-'0'), maxCount)
	}
	return number, p.at > begin
}

// syntaxCharacters are those that need a backslash to stand for themselves.
const syntaxCharacters = `^$\.*+?()[]{}|/`

// isIdentity reports whether a backslash before the character only takes its meaning away.
func (p *parser) isIdentity(c rune) bool {
	if strings.ContainsRune(syntaxCharacters, c) {
		return true
	}
	letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
	return !p.strict && c >= 0 && !letter
}
