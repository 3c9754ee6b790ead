package main_test

import (
	"fmt"
	"strings"
	"testing"
)

func TestRefusedSchemas(t *testing.T) {
	t.Parallel()
	rule := func(context, test string) string {
		return "\n<pattern><rule context=\"" + context + "\">\n<assert test=\"" + test + "\"/></rule></pattern>"
	}
	for name, tt := range map[string]struct{ schema, code, detail string }{
		"Malformed":     {"<schema>", "schema.invalid", "line 1: the document ends too early"},
		"OtherRoot":     {"<a/>", "schema.invalid", "the root element must be <schema>"},
		"OldSchematron": {`<schema xmlns="http://www.ascc.net/xml/schematron"/>`, "schema.invalid", "Schematron 1.5"},
		"BadXPath": {
			schemaOf(rule("a", "b +")),
			"schematron.xpath", `line 3: "b +": a name or a path is expected instead`,
		},
		"UnknownFunction": {
			schemaOf(rule("a", "matches(b, 'c')")),
			"schematron.xpath", "matches() is not a function of XPath 1",
		},
		"MeantFunction": {schemaOf(rule("a", "cuont(b)")), "schematron.xpath", "did you mean count()?"},
		"Arguments": {
			schemaOf(rule("a", "count()")),
			"schematron.xpath", "count() has 0 arguments, at least 1 needed",
		},
		"NotNodes": {
			schemaOf(rule("a", "count(1)")),
			"schematron.xpath", "count() takes a node set, not a number",
		},
		"UnknownPrefix": {
			schemaOf(rule("q:a", "b")),
			"schematron.xpath", "line 2: \"q:a\": the prefix q is not declared",
		},
		"UnknownVariable": {schemaOf(rule("a", "$b")), "schematron.xpath", "the variable $b is not defined"},
		"MissingContext": {
			schemaOf(`<pattern><rule/></pattern>`),
			"schematron.missing", "<rule> needs the attribute context",
		},
		"MissingTest": {
			schemaOf(`<pattern><rule context="a"><assert/></rule></pattern>`), "schematron.missing", "<assert> needs",
		},
		"NoPattern": {schemaOf(rule("ancestor::a", "b")), "schematron.xpath", "may use only the axes child and " +
			"attribute"},
		"NotAPath": {schemaOf(rule("count(a)", "b")), "schematron.xpath", "a pattern is a path"},
		"Include":  {schemaOf(`<include href="x.sch"/>`), "schematron.include", "no other file is read"},
		"XSLT": {
			schemaOf(`<xsl:key xmlns:xsl="http://www.w3.org/1999/XSL/Transform"/>`),
			"schematron.unsupported", "<xsl:key>",
		},
		"XPath2": {
			`<schema xmlns="http://purl.oclc.org/dsdl/schematron" queryBinding="xslt2"/>`,
			"schematron.query_binding", "xslt2 needs XPath 2, which is not supported",
		},
		"OtherBinding": {
			`<schema xmlns="http://purl.oclc.org/dsdl/schematron" queryBinding="stx"/>`,
			"schematron.query_binding", `"stx" is not supported`,
		},
		"AbstractPattern": {schemaOf(`<pattern is-a="x"/>`), "schematron.reference", `no abstract pattern "x"`},
		"AbstractRule": {
			schemaOf(`<pattern><rule context="a"><extends rule="x"/></rule></pattern>`), "schematron.reference",
			`no abstract rule "x"`,
		},
		"Circle": {
			schemaOf(`<pattern><rule abstract="true" id="x"><extends rule="x"/></rule>
				<rule context="a"><extends rule="x"/></rule></pattern>`), "schematron.reference", "extends itself",
		},
		"Diagnostic": {
			schemaOf(`<pattern><rule context="a"><assert test="b" diagnostics="d"/></rule></pattern>`),
			"schematron.reference", `no diagnostic "d"`,
		},
		"SecondVariable": {
			schemaOf(`<let name="a" value="1"/><let name="a" value="2"/>`),
			"schematron.variable", "$a is defined twice",
		},
		"Namespace": {schemaOf(`<ns prefix="a"/>`), "schematron.missing", "<ns> needs a prefix and a uri"},
		"SecondID":  {schemaOf(`<pattern id="a"/><pattern id="a"/>`), "schematron.id", "a second <pattern>"},
		"ActiveID": {
			`<schema xmlns="http://purl.oclc.org/dsdl/schematron" defaultPhase="p"><phase id="p">` +
				`<active pattern="q"/></phase></schema>`,
			"schematron.reference", `no pattern "q"`,
		},
		"Variables": {
			schemaOf(manyLets(600) + strings.Repeat(`<pattern><rule context="a"/></pattern>`, 1000)),
			"schema.too_large", "more than 500 variables",
		},
		"Doubling": {
			schemaOf(doubling(40)), "schema.too_large", "more than 50000 expressions",
		},
		"Deep": {
			schemaOf(rule("a", strings.Repeat("(", 200)+"1"+strings.Repeat(")", 200))),
			"schematron.xpath", "deeper",
		},
		"Long": {schemaOf(rule("a", strings.Repeat("1 + ", 2000)+"1")), "schematron.xpath", "operands in a row"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fault := refused(t, step(t, tt.schema, ""))
			if fault.Pointer != "/schema" || fault.Code != tt.code || !strings.Contains(fault.Detail, tt.detail) {
				t.Errorf("fault = %+v, want %s with %q", fault, tt.code, tt.detail)
			}
		})
	}
	fault := refused(t, step(t, features, "sone"))
	if fault.Pointer != "/phase" || !strings.Contains(fault.Detail, `no phase "sone"; did you mean some?`) {
		t.Errorf("fault = %+v, want one of the phase", fault)
	}
	if fault := refused(t, `{}`); fault.Code != "schema.missing" {
		t.Errorf("fault = %+v, want that the schema is missing", fault)
	}
}

// manyLets defines so many variables.
func manyLets(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `<let name="v%d" value="%d"/>`, i, i)
	}
	return b.String()
}

// doubling is a pattern of rules that each extend the one before twice.
func doubling(n int) string {
	var b strings.Builder
	b.WriteString(`<pattern><rule abstract="true" id="r0"><assert test="a"/></rule>`)
	for i := range n {
		fmt.Fprintf(&b, `<rule abstract="true" id="r%d"><extends rule="r%d"/><extends rule="r%d"/></rule>`, i+1, i, i)
	}
	fmt.Fprintf(&b, `<rule context="a"><extends rule="r%d"/></rule></pattern>`, n)
	return b.String()
}
