package xpath

import (
	"maps"
	"slices"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/programs/schematron/findings"
)

// Env is what the names of an expression mean.
type Env struct {
	// Namespaces are by their prefixes. A name without a prefix is in no namespace.
	Namespaces map[string]string
	// Variables are the types of the variables.
	Variables map[string]Type
}

type operation uint8

const (
	opBinary operation = iota
	opNegate
	opCall
	opConstant
	opVariable
	// opPath walks its steps from its first child, or from the context.
	opPath
	// opFilter keeps of its first child what its predicates hold for.
	opFilter
)

// node is a part of an expression.
type node struct {
	op   operation
	typ  Type
	name string
	kids []*node
	// constant is the value of a literal or a number.
	constant Value
	// absolute says that a path without a first child begins at the root.
	absolute   bool
	steps      []step
	predicates []predicate
}

// step is one step of a path.
type step struct {
	axis       axis
	test       test
	predicates []predicate
}

// predicate is an expression in brackets. Positional is one whose value depends on where a node is in its set.
type predicate struct {
	*node

	positional bool
}

// test is what a step wants of a node.
type test struct {
	// kind is what is wanted, anyKind for node().
	kind Kind
	// wild wants any name, space and local otherwise.
	wild             bool
	namespace, local string
	anyNamespace     bool
}

const anyKind Kind = 0xff

// Bounds of an expression, so that its evaluation nests only so deep.
const (
	maxParens     = 100
	maxPredicates = 8
)

type parser struct {
	tokens []token
	env    Env
	// parens and inPredicates are how deep the parser is in either.
	parens, inPredicates int
	// positional says that position() or last() was read in the innermost predicate.
	positional bool
}

// parse returns the tree of an expression.
func parse(source string, env Env) (*node, *Mistake) {
	tokens, fault := tokenize(source)
	if fault != nil {
		return nil, fault
	}
	p := &parser{tokens: tokens, env: env}
	n, fault := p.expression()
	if fault == nil && p.peek().kind != tokenEnd {
		fault = mistake("%s is not expected", p.found())
	}
	return n, fault
}

func (p *parser) peek() token {
	return p.tokens[0]
}

func (p *parser) next() token {
	one := p.tokens[0]
	if one.kind != tokenEnd {
		p.tokens = p.tokens[1:]
	}
	return one
}

// found describes the next token.
func (p *parser) found() string {
	switch one := p.peek(); one.kind {
	case tokenEnd:
		return "the end"
	case tokenNumber:
		return formatNumber(one.number)
	default:
		return findings.Quote(one.text)
	}
}

func (p *parser) isSymbol(text string) bool {
	one := p.peek()
	return one.kind == tokenSymbol && one.text == text
}

func (p *parser) isOperator(texts ...string) bool {
	one := p.peek()
	return one.kind == tokenOperator && slices.Contains(texts, one.text)
}

func (p *parser) expect(symbol string) *Mistake {
	if !p.isSymbol(symbol) {
		return mistake("%q is expected instead of %s", symbol, p.found())
	}
	p.next()
	return nil
}

// levels are the operators, from those that bind least.
var levels = [][]string{
	{"or"},
	{"and"},
	{"=", "!="},
	{"<", "<=", ">", ">="},
	{"+", "-"},
	{"*", "div", "mod"},
}

func (p *parser) expression() (*node, *Mistake) {
	p.parens++
	defer func() { p.parens-- }()
	if p.parens > maxParens {
		return nil, mistake("nested deeper than %d levels", maxParens)
	}
	return p.level(0)
}

func (p *parser) level(i int) (*node, *Mistake) {
	if i == len(levels) {
		return p.unary()
	}
	left, fault := p.level(i + 1)
	for depth := 0; fault == nil && p.isOperator(levels[i]...); depth++ {
		operator := p.next().text
		var right *node
		if right, fault = p.level(i + 1); fault != nil {
			break
		}
		if left.op == opBinary && left.name == operator && (operator == "or" || operator == "and") {
			// A long chain is one node, so that it does not nest.
			left.kids = append(left.kids, right)
			continue
		}
		if depth > maxOperands {
			return nil, mistake("more than %d operands in a row", maxOperands)
		}
		left = &node{op: opBinary, name: operator, typ: operatorType(i), kids: []*node{left, right}}
	}
	return left, fault
}

// maxOperands bounds chains of operators, which nest.
const maxOperands = 1000

func operatorType(level int) Type {
	const firstOfNumbers = 4
	if level < firstOfNumbers {
		return Boolean
	}
	return Number
}

func (p *parser) unary() (*node, *Mistake) {
	negations := 0
	for p.isOperator("-") {
		p.next()
		negations++
	}
	n, fault := p.union()
	if fault != nil || negations == 0 {
		return n, fault
	}
	n = &node{op: opNegate, typ: Number, kids: []*node{n}}
	if negations%2 == 0 {
		n = &node{op: opNegate, typ: Number, kids: []*node{n}}
	}
	return n, nil
}

func (p *parser) union() (*node, *Mistake) {
	first, fault := p.path()
	if fault != nil || !p.isOperator("|") {
		return first, fault
	}
	union := &node{op: opBinary, name: "|", typ: NodeSet, kids: []*node{first}}
	for p.isOperator("|") {
		p.next()
		one, fault := p.path()
		if fault != nil {
			return nil, fault
		}
		union.kids = append(union.kids, one)
	}
	for _, kid := range union.kids {
		if kid.typ != NodeSet {
			return nil, mistake(`"|" joins node sets, not a %s`, kid.typ)
		}
	}
	return union, nil
}

// primary reads what may stand before the predicates of a filter.
func (p *parser) primary() (*node, *Mistake) {
	switch one := p.next(); one.kind {
	case tokenLiteral:
		return &node{op: opConstant, typ: String, constant: textValue(one.text)}, nil
	case tokenNumber:
		return &node{op: opConstant, typ: Number, constant: numberValue(one.number)}, nil
	case tokenVariable:
		typ, known := p.env.Variables[one.text]
		if !known {
			return nil, unknownVariable(one.text, p.env)
		}
		return &node{op: opVariable, name: one.text, typ: typ}, nil
	case tokenFunction:
		return p.call(one.text)
	default:
		n, fault := p.expression()
		if fault == nil {
			fault = p.expect(")")
		}
		return n, fault
	}
}

func unknownVariable(name string, env Env) *Mistake {
	names := slices.Sorted(maps.Keys(env.Variables))
	if meant := findings.Nearest(name, names); meant != "" {
		return mistake("the variable $%s is not defined; did you mean $%s?", findings.Clip(name), meant)
	}
	return mistake("the variable $%s is not defined", findings.Clip(name))
}

func (p *parser) call(name string) (*node, *Mistake) {
	f, known := functions[name]
	if !known {
		return nil, unknownFunction(name)
	}
	n := &node{op: opCall, name: name, typ: f.result}
	fault := p.expect("(")
	for fault == nil && !p.isSymbol(")") {
		if len(n.kids) > 0 {
			if fault = p.expect(","); fault != nil {
				break
			}
		}
		var kid *node
		if kid, fault = p.expression(); fault == nil {
			n.kids = append(n.kids, kid)
		}
	}
	if fault != nil {
		return nil, fault
	}
	p.next()
	if name == "position" || name == "last" {
		p.positional = true
	}
	return n, f.check(n)
}

func unknownFunction(name string) *Mistake {
	names := slices.Sorted(maps.Keys(functions))
	switch meant := findings.Nearest(name, names); {
	case meant != "":
		return mistake("%s() is not a function of XPath 1; did you mean %s()?", findings.Clip(name), meant)
	case strings.Contains(name, ":"):
		return mistake("%s() is an extension, and none is supported", findings.Clip(name))
	default:
		return mistake("%s() is not a function of XPath 1, or not supported", findings.Clip(name))
	}
}
