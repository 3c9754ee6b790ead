package main

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/programs/ids/ifc"
)

var errSchema = errors.New("no EXPRESS schema that can be read")

// tokens are the words, texts and signs of EXPRESS. Comments are matched as well, to be left out.
var tokens = regexp.MustCompile(`(?s)\(\*.*?\*\)|--[^\n]*|'[^']*'|[A-Za-z][A-Za-z0-9_]*|[0-9]+|:=|[^\s]`)

// parser reads a schema token by token.
type parser struct {
	tokens []string
	at     int
	schema ifc.Declared
}

// readSchema reads what a schema declares.
func readSchema(text string) (ifc.Declared, error) {
	p := &parser{}
	for _, token := range tokens.FindAllString(text, -1) {
		if !strings.HasPrefix(token, "(*") && !strings.HasPrefix(token, "--") {
			p.tokens = append(p.tokens, token)
		}
	}
	for p.at < len(p.tokens) {
		switch p.take() {
		case "SCHEMA":
			p.schema.Name = p.take()
		case "TYPE":
			p.readType()
		case "ENTITY":
			p.readClass()
		case "FUNCTION":
			p.skipTo("END_FUNCTION")
		case "RULE":
			p.skipTo("END_RULE")
		}
	}
	if p.schema.Name == "" || len(p.schema.Classes) == 0 {
		return ifc.Declared{}, fmt.Errorf("%w: it declares no entities", errSchema)
	}
	return p.schema, nil
}

// next returns the next token, empty at the end.
func (p *parser) next() string {
	if p.at >= len(p.tokens) {
		return ""
	}
	return p.tokens[p.at]
}

func (p *parser) take() string {
	token := p.next()
	p.at++
	return token
}

// skipTo moves behind a token.
func (p *parser) skipTo(end string) {
	for p.at < len(p.tokens) && p.take() != end {
	}
}

// names reads a list in parentheses.
func (p *parser) names() []string {
	var names []string
	p.skipTo("(")
	for p.at < len(p.tokens) {
		switch token := p.take(); token {
		case ",":
		case ")":
			return names
		default:
			names = append(names, token)
		}
	}
	return names
}

func (p *parser) readType() {
	t := ifc.Type{Name: p.take(), Form: ifc.Defined}
	p.skipTo("=")
	switch p.next() {
	case "ENUMERATION":
		t.Form, t.Of = ifc.Enumeration, p.names()
	case "SELECT":
		t.Form, t.Of = ifc.Select, p.names()
	default:
		of, many := p.typeName()
		t.Of = []string{of}
		if many {
			t.Form = ifc.Many
		}
	}
	p.schema.Types = append(p.schema.Types, t)
	p.skipTo("END_TYPE")
}

// typeName reads a type. It says whether it is a list, whatever the list is of.
func (p *parser) typeName() (string, bool) {
	many := false
	for p.at < len(p.tokens) {
		switch token := p.take(); token {
		case "LIST", "SET", "BAG", "ARRAY":
			many = true
			p.skipTo("OF")
		case "OPTIONAL", "UNIQUE":
		default:
			return token, many
		}
	}
	return "", many
}

func (p *parser) readClass() {
	c := ifc.DeclaredClass{Name: p.take()}
	// What a class is a supertype of follows from its subtypes.
	for token := p.take(); token != ";" && token != ""; token = p.take() {
		switch token {
		case "ABSTRACT":
			c.Abstract = true
		case "SUBTYPE":
			c.Parent = p.names()[0]
		}
	}
	section := ""
	for p.at < len(p.tokens) {
		switch token := p.next(); token {
		case "END_ENTITY":
			p.schema.Classes = append(p.schema.Classes, c)
			return
		case "DERIVE", "INVERSE", "UNIQUE", "WHERE":
			section = token
			p.at++
		default:
			p.readStatement(&c, section)
		}
	}
}

// readStatement reads a statement up to its semicolon. A derived attribute of a parent has no value in files.
func (p *parser) readStatement(c *ifc.DeclaredClass, section string) {
	inherited := p.next() == "SELF"
	switch {
	case section == "DERIVE" && inherited:
		p.skipTo(".")
		c.Derived = append(c.Derived, p.take())
	case section == "" && !inherited:
		names := []string{p.take()}
		for p.take() == "," {
			names = append(names, p.take())
		}
		of, many := p.typeName()
		for _, name := range names {
			c.Attributes = append(c.Attributes, ifc.Attribute{Name: name, Type: of, Many: many})
		}
	}
	p.skipTo(";")
}
