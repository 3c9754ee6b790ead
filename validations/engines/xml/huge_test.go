package xml_test

import (
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// TestHugeTexts checks texts of more than 10 MB, such as files that are embedded in a document.
func TestHugeTexts(t *testing.T) {
	t.Parallel()
	engine := compile(t, engines.KindXML, xmlStep(t, xsd(`<xs:element name="a" type="xs:string"/>`)))
	huge := strings.Repeat("QUJD", 2_500_001)
	for _, text := range []string{huge, "<!--" + huge + "-->", "<![CDATA[" + huge + "]]>"} {
		same(t, []brief{}, briefs(run(t, engine, []byte("<a>"+text+"</a>"), xmlType)))
	}
}
