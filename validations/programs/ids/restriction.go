package main

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/programs/port/xsdpattern"
	"github.com/simplevalidations/simplevalidations/validations/programs/schematron/findings"
	"github.com/simplevalidations/simplevalidations/validations/programs/schematron/xpath"
)

// The bases of restrictions.
const (
	baseText     = "xs:string"
	baseReal     = "xs:double"
	baseInteger  = "xs:integer"
	baseBoolean  = "xs:boolean"
	baseDate     = "xs:date"
	baseTime     = "xs:time"
	baseDateTime = "xs:dateTime"
	baseDuration = "xs:duration"
	baseAddress  = "xs:anyURI"
)

// forms are how values of a base are written.
var forms = map[string]*regexp.Regexp{
	baseReal:     regexp.MustCompile(`^[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?$`),
	baseInteger:  regexp.MustCompile(`^[-+]?\d+$`),
	baseBoolean:  regexp.MustCompile(`^(?:true|false|0|1)$`),
	baseDate:     regexp.MustCompile(`^\d{4}-\d{2}-\d{2}(?:Z|[-+]\d{2}:\d{2})?$`),
	baseTime:     regexp.MustCompile(`^\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[-+]\d{2}:\d{2})?$`),
	baseDateTime: regexp.MustCompile(`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[-+]\d{2}:\d{2})?$`),
	baseDuration: regexp.MustCompile(`^[-+]?P(?:\d+Y)?(?:\d+M)?(?:\d+D)?(?:T(?:\d+H)?(?:\d+M)?(?:\d+S)?)?$`),
}

// isWritten says whether a text is a value of a base.
func isWritten(text, base string) bool {
	form := forms[base]
	return form == nil || form.MatchString(text)
}

// readConstraint reads what a parameter of a facet must be.
func (r *reader) readConstraint(n *xpath.Node) *constraint {
	r.attributes(n)
	c := &constraint{}
	elements := r.elements(n)
	if len(elements) != 1 {
		r.refuse(n, faultStructure, "<%s> needs one <simpleValue> or one <xs:restriction>", n.Local())
		return c
	}
	child := elements[0]
	switch {
	case child.Namespace() == namespaceText && child.Local() == "simpleValue":
		r.attributes(child)
		text := r.text(child)
		if text == "" {
			r.refuse(child, faultValue, "the value of <%s> is empty", n.Local())
		}
		c.values = []literal{newLiteral(text)}
	case child.Namespace() == namespaceXS && child.Local() == "restriction":
		r.readRestriction(child, c)
	default:
		r.refuse(child, faultStructure, "<%s> needs one <simpleValue> or one <xs:restriction>, not <%s>",
			n.Local(), findings.Clip(child.Written()))
	}
	return c
}

func (r *reader) readRestriction(n *xpath.Node, c *constraint) {
	_, base, qualified := strings.Cut(r.attributes(n, "base")["base"], ":")
	c.base = "xs:" + base
	if c.base == baseAddress {
		c.base = baseText
	}
	if c.base != baseText && forms[c.base] == nil || !qualified {
		r.refuse(n, faultValue, "the base of a restriction is one of xs:string, xs:double, xs:integer, xs:boolean, "+
			"xs:date, xs:dateTime, xs:time, xs:duration and xs:anyURI")
		c.base = baseText
	}
	found := false
	for _, child := range r.elements(n) {
		if child.Namespace() != namespaceXS || child.Local() == "annotation" {
			if child.Namespace() != namespaceXS {
				r.refuse(child, faultStructure, "<%s> is not allowed in a restriction", findings.Clip(child.Written()))
			}
			continue
		}
		found = true
		values := r.attributes(child, "value", "fixed", "id")
		value, given := values["value"]
		if !given {
			r.refuse(child, faultStructure, "<%s> needs the attribute value", child.Local())
			continue
		}
		r.readLimit(child, value, c)
	}
	if !found {
		r.refuse(n, faultValue, "the restriction is empty")
	}
}

// readLimit reads one part of a restriction.
func (r *reader) readLimit(n *xpath.Node, value string, c *constraint) {
	switch n.Local() {
	case "enumeration":
		if !isWritten(value, c.base) {
			r.refuse(n, faultValue, "%s is not a value of %s", findings.Quote(value), c.base)
		}
		c.values = append(c.values, newLiteral(value))
	case "pattern":
		r.readPattern(n, value, c)
	case "minExclusive", "minInclusive", "maxExclusive", "maxInclusive":
		r.readBound(n, value, c)
	case "length", "minLength", "maxLength":
		count, err := strconv.Atoi(value)
		if err != nil || count < 0 || c.base != baseText {
			r.refuse(n, faultValue, "<xs:%s> needs a number, and the base xs:string", n.Local())
			return
		}
		c.lengths = append(c.lengths, length{signOf(n.Local()), count})
	default:
		known := []string{
			"enumeration", "length", "maxExclusive", "maxInclusive", "maxLength", "minExclusive", "minInclusive",
			"minLength", "pattern",
		}
		r.refuse(n, faultValue, "<xs:%s> in a restriction is %s", n.Local(), findings.NotAllowed(n.Local(), known))
	}
}

// signOf is how a limit compares.
func signOf(limit string) string {
	return map[string]string{
		"minExclusive": ">", "minInclusive": ">=", "maxExclusive": "<", "maxInclusive": "<=",
		"length": "=", "minLength": ">=", "maxLength": "<=",
	}[limit]
}

func (r *reader) readBound(n *xpath.Node, value string, c *constraint) {
	if c.base == baseText || c.base == baseBoolean || !isWritten(value, c.base) {
		r.refuse(n, faultValue, "<xs:%s> with %s does not fit the base %s", n.Local(), findings.Quote(value), c.base)
		return
	}
	than := newLiteral(value)
	than.numeric = c.base == baseReal || c.base == baseInteger
	c.bounds = append(c.bounds, bound{signOf(n.Local()), than, c.base == baseDuration})
}

// maxPatterns bounds the instructions of all compiled patterns of a text.
const maxPatterns = 200_000

func (r *reader) readPattern(n *xpath.Node, source string, c *constraint) {
	if r.refusals >= maxFaults {
		return
	}
	if source == "" {
		r.refuse(n, faultPattern, "the pattern is empty")
		return
	}
	if c.base == baseReal || c.base == baseInteger {
		r.refuse(n, faultPattern, "patterns are for texts, not for %s; use bounds or an enumeration", c.base)
		return
	}
	compiled, size, err := xsdpattern.Compile(source)
	if err != nil {
		r.refuse(n, faultPattern, "the pattern %s cannot be read: %s", findings.Quote(source), err)
		return
	}
	if r.patterns += size; r.patterns > maxPatterns {
		r.refuse(n, "ids.too_large", "the patterns of the IDS are too large in total")
		return
	}
	c.patterns = append(c.patterns, pattern{source, compiled, size})
}
