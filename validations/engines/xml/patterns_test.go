package xml_test

import (
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// TestClassesOfPatterns checks classes that libxml2 reads wrongly, and others with the same parts.
func TestClassesOfPatterns(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ good, bad []string }{
		`[\P{L}*]{0,2}`:       {[]string{"", "1*", "#"}, []string{"A", "1b"}},
		`[^\P{L}]`:            {[]string{"a", "é"}, []string{"1", "*"}},
		`[^\P{IsBasicLatin}]`: {[]string{"a", "<"}, []string{"Ā", "é"}},
		`[abcdef-[^bce]]+`:    {[]string{"bce"}, []string{"adf", "bcd"}},
		`\P{L}[\S]`:           {[]string{"1a"}, []string{"aa"}},
		`([\P{Ll}][\p{Ll}]*)\s([\P{Ll}][\p{Ll}]*)`: {[]string{"Hello World"}, []string{"hello World"}},
	}
	escape := func(text string) string {
		if text == "<" {
			return "&lt;"
		}
		return text
	}
	for pattern, tt := range tests {
		t.Run(pattern, func(t *testing.T) {
			t.Parallel()
			engine := compile(t, engines.KindXML, xmlStep(t, xsd(`<xs:element name="a"><xs:simpleType>
				<xs:restriction base="xs:string"><xs:pattern value='`+pattern+`'/></xs:restriction></xs:simpleType>
				</xs:element>`)))
			for _, text := range tt.good {
				same(t, []brief{}, briefs(run(t, engine, []byte("<a>"+escape(text)+"</a>"), xmlType)))
			}
			for _, text := range tt.bad {
				same(t, 1, run(t, engine, []byte("<a>"+text+"</a>"), xmlType).Errors)
			}
		})
	}
}
