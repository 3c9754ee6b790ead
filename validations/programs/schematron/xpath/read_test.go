package xpath_test

import (
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/programs/schematron/xpath"
)

func TestTooManyNodes(t *testing.T) {
	t.Parallel()
	for comments, code := range map[int]string{1_999_000: "", 2_001_000: "xml.too_large"} {
		_, fault := xpath.Read([]byte("<a>" + strings.Repeat("<!---->", comments) + "</a>"))
		if fault == nil && code != "" || fault != nil && fault.Code != code {
			t.Errorf("fault of %d comments = %v, want %q", comments, fault, code)
		}
	}
}
