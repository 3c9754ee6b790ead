package guides

import (
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

// TestOneMachineToMany executes the commands of the page in the cell that has the organization. Each prints what the
// page shows, and in the end the run of the organization is in the other cell.
func TestOneMachineToMany(t *testing.T) {
	t.Parallel()
	const page = "docs/guides/one-machine-to-many.md"
	cells := program.InstallCells(t, "SV_MOVE_REST=100ms")
	server := program.Serve(t, cells.From.Settings)
	c := program.NewClient(t, cells.From.Harbour.Tokens.Executor)
	program.WantCreated(t, c.Start(t, server.URL(), program.Building(t, "moved")))
	sh := openShellOn(t, cells.From)
	known, sessions := newTranscript(), 0
	for _, b := range blocksOf(t, page) {
		if b.language != "console" {
			t.Errorf("%s is %s, which nothing executes", b, b.language)
			continue
		}
		sessions++
		b.code = strings.NewReplacer("acme", cells.From.Harbour.Slug, "/etc/simplevalidations/cell-b.env", cells.File).
			Replace(b.code)
		sh.follow(t, b, known)
	}
	moved := program.Count(t, cells.To.DB, "SELECT count(*) FROM validation_runs WHERE org_id = $1",
		cells.From.Harbour.ID)
	if sessions == 0 || moved != 1 {
		t.Errorf("runs in the other cell = %d after %d sessions, want 1", moved, sessions)
	}
}
