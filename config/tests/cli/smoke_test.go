package cli

import (
	"testing"
)

// An installation without the workflows of the demonstration can be tried, too.
func TestSmokeOfOwnWorkflows(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.WorksOn(t)
	d := setupDesk(t, "http://"+s.Address, s.Harbour.Tokens.Owner)
	ctx := t.Context()
	s.Exec(t, "UPDATE workflows SET is_active = false")
	d.run(ctx, "smoke").want(t, 2, "there is no active workflow to run")
	for slug, accepts := range map[string]string{
		"json": "application/json", "xml": "text/xml", "yaml": "application/yaml", "csv": "text/csv",
		"lines": "application/x-ndjson", "tabs": "text/tab-separated-values", "text": "text/plain",
	} {
		s.AddTyped(t, slug, "application/zip", accepts)
		d.run(ctx, "smoke", "--workflow", slug).want(t, 0, "one run, replayed once")
	}
	d.run(ctx, "smoke").want(t, 2, "set --workflow to the one to run", "csv", "json")
	s.Exec(t, "UPDATE workflows SET is_active = false")
	s.AddTyped(t, "archive", "application/zip")
	d.run(ctx, "smoke").want(t, 2, "set --file to a document for archive", "application/zip")
	d.run(ctx, "smoke", "--file", "@good.csv", "--content-type", "application/zip").want(t, 0, "one run, replayed once")
}
