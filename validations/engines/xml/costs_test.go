package xml_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// TestRepetitionsTakeLinearTime checks elements that do not fit behind others that each may belong to two
// repetitions. For each of them libxml2 would go back ten million times.
func TestRepetitionsTakeLinearTime(t *testing.T) {
	t.Parallel()
	engine := compile(t, engines.KindXML, xmlStep(t, xsd(`<xs:element name="a"><xs:complexType>
		<xs:sequence maxOccurs="unbounded"><xs:element name="b"><xs:complexType><xs:choice maxOccurs="unbounded">
		<xs:element name="c" minOccurs="0" maxOccurs="unbounded"/><xs:element name="d" minOccurs="0"/></xs:choice>
		</xs:complexType></xs:element></xs:sequence></xs:complexType></xs:element>`)))
	document := "<a>\n" + strings.Repeat("<b>"+strings.Repeat("<c/>", 50)+"<e/></b>\n", 100) + "</a>"
	report := run(t, engine, []byte(document), xmlType)
	same(t, 100, report.Errors)
	same(t, brief{"xml.schema", "/a/b[2]/e", 3, 204, 0, "<e> is not expected here, but c, d"}, briefs(report)[1])
}

func TestXMLSchemaThatBurns(t *testing.T) {
	t.Parallel()
	// The validator's own engine for patterns goes back and forth without end.
	schema := xsd(`<xs:element name="a"><xs:simpleType><xs:restriction base="xs:string">
		<xs:pattern value="((a|b|ab)*)*((a|b|ab)*)*c"/></xs:restriction></xs:simpleType></xs:element>`)
	document := []byte("<a>" + strings.Repeat("ab", 5_000) + "</a>")

	t.Run("Work", func(t *testing.T) {
		t.Parallel()
		limits := engines.DefaultLimits()
		limits.MaxLintTime = time.Minute
		engine := compileWithin(t, engines.KindXML, xmlStep(t, schema), limits)
		same(t, "has a pattern or a content model that takes too much work", exhausted(t, engine, document))
	})

	t.Run("ProcessorTime", func(t *testing.T) {
		t.Parallel()
		limits := engines.DefaultLimits()
		limits.MaxLintTime = time.Second
		engine := compileWithin(t, engines.KindXML, xmlStep(t, manyOptional()), limits)
		same(t, "needed more than 1s of processor time", exhausted(t, engine, []byte("<a/>")))
	})

	t.Run("Memory", func(t *testing.T) {
		t.Parallel()
		limits := engines.DefaultLimits()
		limits.MaxLintBytes = 80 << 20
		engine := compileWithin(t, engines.KindXML, xmlStep(t, xsd(`<xs:element name="a"/>`)), limits)
		document := []byte("<a>" + strings.Repeat("<b>x</b>", 400_000) + "</a>")
		same(t, "needed more than 80 MiB of memory", exhausted(t, engine, document))
	})

	t.Run("TheContextEndsIt", func(t *testing.T) {
		t.Parallel()
		engine := compile(t, engines.KindXML, xmlStep(t, schema))
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_, err := engine.Run(ctx, engines.NewDocument(document, xmlType, ""))
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error = %v, want the deadline's", err)
		}
	})
}

// exhausted returns what a check runs out of, which is no finding about the document.
func exhausted(t *testing.T, engine engines.Engine, document []byte) string {
	t.Helper()
	report, err := engine.Run(t.Context(), engines.NewDocument(document, xmlType, ""))
	ended, ok := errors.AsType[*engines.ExhaustedError](err)
	if !ok {
		t.Fatalf("error = %v with %d findings, want that a resource is exhausted", err, len(report.Findings))
	}
	return ended.Reason
}

// manyOptional is a schema whose automaton has millions of ways through it.
func manyOptional() string {
	var elements strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&elements, `<xs:element name="e%d" minOccurs="0"/>`, i)
	}
	return xsd(`<xs:element name="a"><xs:complexType><xs:sequence>` + elements.String() +
		`</xs:sequence></xs:complexType></xs:element>`)
}
