package pages

import (
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/config/health"
	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/docs"
)

func TestProcessesOnTheOperationsPage(t *testing.T) {
	t.Parallel()
	s := setup(t)
	operator := s.operator(t)
	s.shows(t, fixture.Page(operationsPage, operator), "No process has sent a heartbeat yet",
		"No process runs the enqueuer:", "SV112", "start simplevalidations serve")

	s.Process(t, hostile, fixture.Version, 0)
	html := s.see(t, fixture.Page(operationsPage, operator))
	fixture.Shows(t, html, "Alive", "&lt;script&gt;", "3, total 1,234", "No process runs the sweeper:",
		"simplevalidations serve --only worker")
	fixture.Hides(t, html, "<script>alert", "No process runs the enqueuer", "No process runs the worker",
		"Several releases")

	loops := s.Process(t, "worker-2", "9.9.9", 0)
	s.Process(t, "worker-3", fixture.Version, 600)
	html = s.see(t, fixture.Page(operationsPage, operator))
	fixture.Shows(t, html, "Several releases run at once: "+fixture.Version+", 9.9.9", "No heartbeat for 10 min ",
		"removed from the list after a day")
	fixture.Hides(t, html, "Late</span>", "in a row")

	s.Exec(t, `UPDATE service_loops SET failures = 3, last_error = 'Redis <is> away', failed_at = now()
		WHERE process_id = $1`, loops)
	// A loop is late by the time at which its process was last heard of, however long ago that was.
	s.Exec(t, `UPDATE service_loops SET ended_at = p.seen_at - interval '20 seconds'
		FROM service_processes AS p WHERE p.id = process_id AND process_id <> $1`, loops)
	s.shows(t, fixture.Page(operationsPage, operator), "Late</span>", "Failed 3 times in a row",
		"Redis &lt;is&gt; away", "process 42 on worker-2 fails")
}

func TestChecksOnTheOperationsPage(t *testing.T) {
	t.Parallel()
	s := setup(t)
	html := s.see(t, fixture.Page(operationsPage, s.operator(t)))
	guide, _ := docs.Page("guides/operators")
	for _, check := range []health.Check{
		{ID: "SV110", Name: "database"},
		{ID: "SV111", Name: "redis"},
		{ID: "SV112", Name: "processes and loops"},
		{ID: "SV113", Name: "clock of the database"},
		{ID: "SV114", Name: "settings"},
		{ID: "SV115", Name: "durability"},
		{ID: "SV116", Name: "secret key"},
		{ID: "SV117", Name: "mail"},
		{ID: "SV118", Name: "traces"},
		{ID: "SV119", Name: "object store"},
	} {
		fixture.Shows(t, html, `<a href="`+check.Address()+`">`+check.ID+`</a> `+check.Name)
		if heading := "### " + check.ID + " " + check.Name + "\n"; !strings.Contains(string(guide), heading) {
			t.Errorf("the guide has no heading %q", heading)
		}
	}
	fixture.Shows(t, html, "schema up to date", "inside the process", "no problems")

	s.Exec(t, `DELETE FROM goose_db_version WHERE version_id = (SELECT max(version_id) FROM goose_db_version)`)
	s.shows(t, fixture.Page(operationsPage, s.operator(t)), "To do: run simplevalidations migrate up")
}
