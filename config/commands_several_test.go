package config_test

import (
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/client/clienttest"
)

func TestRunCommandOfSeveralDocuments(t *testing.T) {
	t.Parallel()
	server := clienttest.New()
	t.Cleanup(server.Close)
	front := workflowsOnTop(server)
	t.Cleanup(front.Close)
	d := setupDesk(t, front.URL, "sv_x")
	ctx := t.Context()
	for _, behind := range []string{"@none.csv", "@", "@bad.json"} {
		d.run(ctx, "run", "@good.csv", behind, "-w", "meter-readings").want(t, 2)
	}
	if runs := server.Runs(); len(runs) != 0 {
		t.Errorf("runs = %d, want none where a later document cannot be sent", len(runs))
	}
	server.Quota(1)
	got := d.run(ctx, "run", "@good.csv", "@bad.csv", "@warn.csv", "-w", "meter-readings", "--output", "@report.json")
	got.want(t, 6, "good.csv", "that was ", "bad.csv; not sent: ", "warn.csv")
	if !strings.Contains(got.output, "PASSED") || !strings.Contains(d.read(t, "report.json"), "good.csv") {
		t.Errorf("output = %s, want what the run before has found", got.output)
	}
}
