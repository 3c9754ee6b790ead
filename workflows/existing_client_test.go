package workflows

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core/api"
)

func TestTypesForTheExistingClient(t *testing.T) {
	t.Parallel()
	for path, want := range map[string][]string{
		"/api/v1/orgs/:org/workflows/": {"xml", "rules"}, "/api/workflows/": {"schematron", "ids"},
	} {
		c := echo.New().NewContext(nil, nil)
		c.SetPath(path)
		body := forClient(c, api.Workflow{
			Steps: []api.WorkflowStep{{ValidatorType: "schematron"}, {ValidatorType: "ids"}},
		})
		got := []string{body.Steps[0].ValidatorType, body.Steps[1].ValidatorType}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("types for %s (-want +got):\n%s", path, diff)
		}
	}
}
