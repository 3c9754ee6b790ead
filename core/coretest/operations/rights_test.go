package operations

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

// The processes need no rights beyond those that the guide grants: they start and execute runs, purge, and stop.
func TestServeWithoutRightsOnTables(t *testing.T) {
	t.Parallel()
	i := program.Install(t, "SV_PURGE_SCHEDULE=@every 1s")
	owner := i.DB.Pool.Config().ConnConfig
	for _, statement := range strings.SplitAfter(granted(t), ";\n") {
		if _, err := i.DB.Pool.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	settings := append(slices.Clip(i.Settings), "DATABASE_URL="+
		strings.ReplaceAll(owner.ConnString(), "user="+owner.User, "user=service"))
	s := program.Serve(t, settings, "--migrate=off")
	if got := program.Count(t, i.DB, `SELECT count(*) FROM pg_stat_activity
		WHERE datname = current_database() AND usename = 'service'`); got == 0 {
		t.Fatal("the process has no connection as service")
	}
	client := program.NewClient(t, i.Harbour.Tokens.Executor)
	for _, key := range []string{"rights-1", "rights-2"} {
		program.WantCreated(t, client.Start(t, s.URL(), program.Readings(t, key)))
	}
	program.CheckAtRest(t, i.DB)
	program.Await(t, "everything periodic was done", func() bool {
		return program.Count(t, i.DB, "SELECT count(DISTINCT job) FROM job_ticks") >= 7
	})
	told := program.Execute(t, append(settings, "SV_URL="+s.URL(), "SV_TOKEN="+i.Harbour.Tokens.Owner), "", "doctor")
	if strings.Contains(told, " error ") || strings.Contains(s.Stderr(), "42501") {
		t.Errorf("doctor = %s\nlog = %s\nwant no right to be missing", told, s.Stderr())
	}
}

// granted returns the statements of the guide.
func granted(tb testing.TB) string {
	tb.Helper()
	root, err := coretest.Root()
	if err != nil {
		tb.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "docs", "guides", "security.md"))
	if err != nil {
		tb.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "## Rights in the database")
	_, block, begins := strings.Cut(section, "```text\n")
	block, _, ends := strings.Cut(block, "```")
	if !found || !begins || !ends {
		tb.Fatal("the guide grants nothing")
	}
	return block
}
