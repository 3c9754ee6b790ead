package xpath_test

import (
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
	"github.com/simplevalidations/simplevalidations/validations/engines/xpath"
)

func TestTooManyNodes(t *testing.T) {
	t.Parallel()
	limits := engine.DefaultLimits()
	limits.MaxValues = 10
	for comments, code := range map[int]string{10: "", 30: "xml.too_large"} {
		_, fault := xpath.Read([]byte("<a>"+strings.Repeat("<!---->", comments)+"</a>"), limits)
		if fault == nil && code != "" || fault != nil && fault.Code != code {
			t.Errorf("fault of %d comments = %v, want %q", comments, fault, code)
		}
	}
}
