package cli

import (
	"testing"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/coretest"
)

// TestCommandsWarnOfWhatChecksNothing has a workflow file with a slip in its schema, which is no error.
func TestCommandsWarnOfWhatChecksNothing(t *testing.T) {
	t.Parallel()
	const warning = `slip.yaml:6:74: /steps/0/config/schema/requird "requird" is not a keyword of JSON Schema, so it ` +
		"is ignored; did you mean required?\n"
	b := setupBench(t)
	b.write(t, "slip.yaml", workflowFile("application/json", "json_schema", `{schema: {requird: [site]}}`))
	b.check(t.Context(), "@bad.json", "-w", "@slip.yaml").want(t, 0, "PASSED", "warning: ", warning)
	b.run(t.Context(), "workflows", "lint", "@slip.yaml").want(t, 0, "ok", "warning: ", warning)

	s := fixture.Setup(t)
	token, _ := s.AddToken(t, s.Harbour, "owner", "author")
	d := setupDesk(t, "http://"+s.Address, token)
	d.write(t, "slip.yaml", b.read(t, "slip.yaml"))
	d.run(t.Context(), "workflows", "import", "@slip.yaml").want(t, 0, "created", "warning: ", warning)
	if n := coretest.One[int](t, s.DB, `SELECT count(*) FROM workflows WHERE slug = 'checked'`); n != 1 {
		t.Errorf("workflows = %d, want the one that was imported with a warning", n)
	}
}
