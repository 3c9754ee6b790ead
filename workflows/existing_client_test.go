package workflows

import (
	"testing"

	"github.com/labstack/echo/v4"
)

func TestTypesForTheExistingClient(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/api/v1/orgs/:org/workflows/": "xml", "/api/workflows/": "schematron",
	} {
		c := echo.New().NewContext(nil, nil)
		c.SetPath(path)
		body := forClient(c, workflowBody{Steps: []stepBody{{ValidatorType: "schematron"}}})
		if got := body.Steps[0].ValidatorType; got != want {
			t.Errorf("type for %s = %s, want %s", path, got, want)
		}
	}
}
