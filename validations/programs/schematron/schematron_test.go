package main_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/programs/port"
)

func TestSamples(t *testing.T) {
	t.Parallel()
	checker := compile(t, text(t, "schemas/meters.schematron-step.json"))
	same(t, []brief{}, briefs(run(t, checker, text(t, "good/meters.xml"))))
	report := run(t, checker, text(t, "bad/meters.xml"))
	same(t, []brief{
		{"schematron.site", "/meters", 2, 1, "The meters belong to no site."},
		{"schematron.many", "/meters", 2, 1, "The file has 4 meters, and a delivery has 3 at most."},
		{"schematron.unique", "/meters/meter", 3, 3, "The meter MTR-1001 is there 2 times."},
		{
			"schematron.digits", "/meters/meter", 3, 3,
			"The meter MTR-1001 has no display of up to 12 digits. Heat meters need none.",
		},
		{"schematron.medium", "/meters/meter[2]", 8, 3, `The meter MTR-77 has the unknown medium "steam".`},
		{"schematron.unique", "/meters/meter[3]", 12, 3, "The meter MTR-1001 is there 2 times."},
		{"schematron.medium", "/meters/meter[3]", 12, 3, `The meter MTR-1001 has the unknown medium "".`},
		{
			"schematron.digits", "/meters/meter[4]", 16, 3,
			"The meter MTR-1004 has no display of up to 12 digits. Heat meters need none.",
		},
	}, briefs(report))
	if report.Counts.Errors != 7 || report.Counts.Warnings != 1 || report.Findings[0].AssertionID != "site" {
		t.Errorf("report = %+v", report)
	}
}

// features is a schema with what Schematron has.
const features = `<?xml version="1.0" encoding="UTF-8"?>
<s:schema xmlns:s="http://purl.oclc.org/dsdl/schematron" xmlns:x="urn:other">
<x:note>no part of the schema</x:note>
<s:ns prefix="b" uri="urn:b"/>
<s:let name="most" value="3"/>
<s:let name="items" value="//b:item"/>
<s:phase id="some"><s:let name="extra" value="2"/><s:active pattern="limits"/></s:phase>
<s:pattern abstract="true" id="required">
  <s:rule context="$where"><s:assert test="$what">R <s:name/> needs $what</s:assert></s:rule>
</s:pattern>
<s:pattern is-a="required" id="names"><s:param name="where" value="b:item[@a]"/>
  <s:param name="what" value="@name"/></s:pattern>
<s:pattern id="first">
  <s:rule context="b:item[@id = 1]"><s:assert test="false()">F1 <s:value-of select="@id"/></s:assert></s:rule>
  <s:rule context="b:item"><s:let name="id" value="@id"/>
    <s:report test="$id mod 2 = 0">F2 <s:emph>even</s:emph> <s:value-of select="$id"/></s:report>
    <s:report test="preceding-sibling::b:item[@id = $id]">F3 <s:name path=".."/></s:report></s:rule>
  <s:rule context="*"><s:report test="true()">F4 <s:name/></s:report></s:rule>
</s:pattern>
<s:pattern id="limits"><s:let name="all" value="count($items)"/>
  <s:rule abstract="true" id="base">
  <s:assert test="count(b:item) &lt;= $most">L1 <s:value-of select="$most"/></s:assert></s:rule>
  <s:rule context="/b:root"><s:extends rule="base"/>
    <s:assert test="$all = 9">L2 <s:value-of select="$all"/></s:assert></s:rule>
  <s:rule context="b:item/b:item | b:part"><s:assert test=". = current()/text()[1]">L3</s:assert>
    <s:assert test="count($items[@id = current()/@id]) = 1">L4 <s:value-of select="@id"/></s:assert></s:rule>
</s:pattern>
</s:schema>`

const featured = `<root xmlns="urn:b"><item id="1"/><item id="2" a=""/><item id="3" a="" name="x"/>
<item id="3"/><part id="5"><item id="2">t</item></part><empty/></root>`

func TestFeatures(t *testing.T) {
	t.Parallel()
	const item = "/root/item"
	same(t, []brief{
		{"schematron.assert", item + "[2]", 1, 35, "R item needs @name"},
		{"schematron.report", "/root", 1, 1, "F4 root"},
		{"schematron.assert", item, 1, 21, "F1 1"},
		{"schematron.report", item + "[2]", 1, 35, "F2 even 2"},
		{"schematron.report", item + "[4]", 2, 1, "F3 root"},
		{"schematron.report", "/root/part", 2, 15, "F4 part"},
		{"schematron.report", "/root/part/item", 2, 28, "F2 even 2"},
		{"schematron.report", "/root/empty", 2, 56, "F4 empty"},
		{"schematron.assert", "/root", 1, 1, "L1 3"},
		{"schematron.assert", "/root", 1, 1, "L2 5"},
		{"schematron.assert", "/root/part", 2, 15, "L3"},
		{"schematron.assert", "/root/part", 2, 15, "L4 5"},
	}, check(t, features, featured))
}

func TestPhases(t *testing.T) {
	t.Parallel()
	checker := compile(t, step(t, features, "some"))
	found := briefs(run(t, checker, featured))
	if len(found) != 4 || found[0].Message != "L1 3" {
		t.Errorf("findings = %+v, want those of one pattern", found)
	}
	const schema = `<schema xmlns="http://purl.oclc.org/dsdl/schematron" defaultPhase="p"><let name="n" value="1"/>
		<phase id="p"><let name="n" value="2"/><let name="own" value="$n"/><active pattern="a"/></phase>
		<pattern id="a"><rule context="a"><report test="$own = 2"><value-of select="$n"/></report></rule></pattern>
		<pattern id="b"><rule context="a"><report test="$own = 2">inactive</report></rule></pattern></schema>`
	same(t, []brief{{"schematron.report", "/a", 1, 1, "2"}}, check(t, schema, "<a/>"))
}

func TestHiddenVariables(t *testing.T) {
	t.Parallel()
	const schema = `<let name="n" value="1"/>
		<pattern><let name="n" value="2"/><rule context="a"><assert test="$n = 2">own</assert></rule></pattern>
		<pattern><rule context="a"><assert test="$n = 1">outer</assert></rule></pattern>`
	same(t, []brief{}, check(t, schemaOf(schema), "<a/>"))
}

func TestSeverities(t *testing.T) {
	t.Parallel()
	const schema = `<pattern><rule context="/a" role="info">
		<assert test="false()"/><assert test="false()" role="WARN"/><assert test="b" flag="fatal"/></rule>
		<rule context="/a"><assert test="false()">never</assert></rule></pattern>`
	checker := compile(t, step(t, schemaOf(schema), ""))
	report := run(t, checker, "<a/>")
	if report.Counts.Errors != 1 || report.Counts.Warnings != 1 || report.Counts.Infos != 1 {
		t.Errorf("report = %+v, want one finding of each severity", report)
	}
	if got := report.Findings[2].Message; got != "b is not true" {
		t.Errorf("message without a text = %q", got)
	}
}

func TestNodesOfAllKinds(t *testing.T) {
	t.Parallel()
	const schema = `<pattern><rule context="/"><report test="a">root</report></rule>
		<rule context="@x"><report test=". = 1">attribute</report></rule>
		<rule context="text()"><report test="true()">text</report></rule>
		<rule context="comment()"><report test="true()">comment</report></rule></pattern>`
	same(t, []brief{
		{"schematron.report", "/", 1, 1, "root"},
		{"schematron.report", "/a/@x", 1, 1, "attribute"},
		{"schematron.report", "/a/comment()", 1, 10, "comment"},
		{"schematron.report", "/a/b/text()", 1, 21, "text"},
	}, check(t, schemaOf(schema), `<a x="1"><!--c--><b>&lt;<![CDATA[x]]></b></a>`))
}

func TestUnreadableDocuments(t *testing.T) {
	t.Parallel()
	schema := schemaOf(`<pattern><rule context="a"><assert test="b"/></rule></pattern>`)
	for document, code := range map[string]string{
		"<a>": "xml.malformed", "<!DOCTYPE a><a/>": "xml.dtd", "<a>&b;</a>": "xml.entity", "": "xml.malformed",
		strings.Repeat("<a>", 300): "xml.depth",
	} {
		found := check(t, schema, document)
		if len(found) != 1 || found[0].Code != code {
			t.Errorf("findings of %.20q = %+v, want %s", document, found, code)
		}
	}
	wide := []byte{0xff, 0xfe}
	for _, r := range "<a/>" {
		wide = append(wide, byte(r), 0)
	}
	if found := check(t, schema, string(wide)); len(found) != 1 || found[0].Code != "schematron.assert" {
		t.Errorf("findings of UTF-16 = %+v", found)
	}
}

// What an expression puts together may not be far larger than the document.
func TestLongTexts(t *testing.T) {
	t.Parallel()
	document := "<a>" + strings.Repeat("a", 1<<20) + "</a>"
	for name, test := range map[string]string{
		"Concat":    "concat(/*" + strings.Repeat(", /*", 16) + ") != ''",
		"Translate": "translate(concat(/*" + strings.Repeat(", /*", 5) + "), 'a', '\U0001F600') != ''",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			schema := schemaOf(`<pattern><rule context="/*"><assert test="` + test + `"/></rule></pattern>`)
			_, err := attempt(compile(t, step(t, schema, "")), document)
			if exhausted, ok := errors.AsType[*port.ExhaustedError](err); !ok {
				t.Errorf("error = %v, want that the text is too long", err)
			} else if !strings.Contains(exhausted.Reason, "a text of more than") {
				t.Errorf("reason = %q", exhausted.Reason)
			}
		})
	}
}

func TestNestedPaths(t *testing.T) {
	t.Parallel()
	const schema = `<pattern><rule context="*"><assert test="count(//*[count(//*) = 0]) = 0"/></rule></pattern>`
	checker := compile(t, step(t, schemaOf(schema), ""))
	checker.MaxWork = 1_000_000
	_, err := attempt(checker, "<a>"+strings.Repeat("<b/>", 5000)+"</a>")
	if exhausted, ok := errors.AsType[*port.ExhaustedError](err); !ok {
		t.Errorf("error = %v, want that the work ran out", err)
	} else if !strings.Contains(exhausted.Reason, "nodes") {
		t.Errorf("reason = %q", exhausted.Reason)
	}
}

// TestWorkIsLimited has an assertion that reads a text of a megabyte for each element. 40 of them are within the
// 200,000,000 nodes and bytes that the guide allows, and 300 are not.
func TestWorkIsLimited(t *testing.T) {
	t.Parallel()
	const schema = `<pattern><rule context="b"><assert test="contains(/a/text, 'no')"/></rule></pattern>`
	checker := compile(t, step(t, schemaOf(schema), ""))
	document := func(elements int) string {
		return "<a><text>" + strings.Repeat("abcdefgh", 1_000_000/8) + "</text>" +
			strings.Repeat("<b/>", elements) + "</a>"
	}
	if report, err := attempt(checker, document(40)); err != nil || report.Counts.Errors != 40 {
		t.Errorf("errors = %d with %v, want one for each element", report.Counts.Errors, err)
	}
	const want = "needed to visit more than 200000000 nodes and bytes"
	_, err := attempt(checker, document(300))
	if exhausted, ok := errors.AsType[*port.ExhaustedError](err); !ok || exhausted.Reason != want {
		t.Errorf("error = %v, want %s", err, want)
	}
}
