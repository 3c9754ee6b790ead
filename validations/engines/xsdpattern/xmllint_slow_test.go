//go:build slow

package xsdpattern_test

import (
	"encoding/xml"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// strict are the expressions of the trials that libxml2 does not take, each with its reason.
func strict() map[string]string {
	return map[string]string{
		`(-|[0-9]{2,3})\/(-|[0-9]{2,3})`: "libxml2 has no escape for /",
		`\^\$`:                           "libxml2 has no escape for $",
		`}x`:                             "libxml2 reads a single } as a fault",
	}
}

// TestAgainstXMLLint compares the verdicts on the trials with those of libxml2.
func TestAgainstXMLLint(t *testing.T) {
	t.Parallel()
	escaped := func(text string) string {
		var b strings.Builder
		if err := xml.EscapeText(&b, []byte(text)); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	folder := t.TempDir()
	for _, tt := range trials() {
		if _, differs := strict()[tt.source]; differs {
			continue
		}
		schema := filepath.Join(folder, "schema.xsd")
		write(t, schema, `<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="a"><xs:simpleType>`+
			`<xs:restriction base="xs:string"><xs:pattern value="`+escaped(tt.source)+`"/></xs:restriction>`+
			`</xs:simpleType></xs:element></xs:schema>`)
		for want, texts := range map[bool][]string{true: tt.good, false: tt.bad} {
			for _, text := range texts {
				document := filepath.Join(folder, "document.xml")
				write(t, document, "<a>"+escaped(text)+"</a>")
				lint := exec.CommandContext(t.Context(), "xmllint", "--noout", "--schema", schema, document)
				output, err := lint.CombinedOutput()
				if got := err == nil; got != want {
					t.Errorf("libxml2 matches %q with %s: %t\n%s", text, tt.source, got, output)
				}
			}
		}
	}
}

func write(tb testing.TB, file, text string) {
	tb.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
}
