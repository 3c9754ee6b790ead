package config_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/config/remote"
	"github.com/simplevalidations/simplevalidations/docs"
)

// process puts a process on record that was heard of so many seconds ago, with a loop that all need.
func (s *stage) process(tb testing.TB, host, version string, silentSeconds int) string {
	tb.Helper()
	id := uuid.NewString()
	s.exec(tb, `INSERT INTO service_processes (id, host, pid, version, parts, started_at, seen_at)
		VALUES ($1, $2, 42, $3, '{worker}', now() - interval '1 day', now() - make_interval(secs => $4))`,
		id, host, version, silentSeconds)
	s.exec(tb, `INSERT INTO service_loops (
			process_id, name, every, began_at, ended_at, done, total, failures, last_error, failed_at)
		SELECT $1, 'enqueuer', '500 ms', began, began + '1 ms', 3, 1234, 0, '', NULL FROM now() AS began`, id)
	return id
}

func TestProcessesOnTheOperationsPage(t *testing.T) {
	t.Parallel()
	s := setup(t)
	operator := s.operator(t)
	shows(t, s.visit(t, http.StatusOK, page(operationsPage, operator)),
		"No process has sent a heartbeat yet", "No process runs the enqueuer:", "SV112",
		"start simplevalidations serve")

	s.process(t, hostile, version, 0)
	html := s.visit(t, http.StatusOK, page(operationsPage, operator))
	shows(t, html, "Alive", "&lt;script&gt;", "3, total 1,234", "No process runs the sweeper:",
		"simplevalidations serve --only worker")
	hides(t, html, "<script>alert", "No process runs the enqueuer", "No process runs the worker", "Several releases")

	loops := s.process(t, "worker-2", "9.9.9", 0)
	s.process(t, "worker-3", version, 600)
	html = s.visit(t, http.StatusOK, page(operationsPage, operator))
	shows(t, html, "Several releases run at once: "+version+", 9.9.9", "No heartbeat for 10 min ",
		"removed from the list after a day")
	hides(t, html, "Late</span>", "in a row")

	s.exec(t, `UPDATE service_loops SET failures = 3, last_error = 'Redis <is> away', failed_at = now()
		WHERE process_id = $1`, loops)
	// A loop is late by the time at which its process was last heard of, however long ago that was.
	s.exec(t, `UPDATE service_loops SET ended_at = p.seen_at - interval '20 seconds'
		FROM service_processes AS p WHERE p.id = process_id AND process_id <> $1`, loops)
	shows(t, s.visit(t, http.StatusOK, page(operationsPage, operator)),
		"Late</span>", "Failed 3 times in a row", "Redis &lt;is&gt; away", "process 42 on worker-2 fails")
}

func TestChecksOnTheOperationsPage(t *testing.T) {
	t.Parallel()
	s := setup(t)
	html := s.visit(t, http.StatusOK, page(operationsPage, s.operator(t)))
	guide, _ := docs.Page("guides/doctor")
	for _, check := range []remote.Check{
		{ID: "SV110", Name: "database"},
		{ID: "SV111", Name: "redis"},
		{ID: "SV112", Name: "processes and loops"},
		{ID: "SV113", Name: "clock of the database"},
		{ID: "SV114", Name: "settings"},
		{ID: "SV115", Name: "durability"},
		{ID: "SV116", Name: "secret key"},
	} {
		shows(t, html, `<a href="`+check.Address()+`">`+check.ID+`</a> `+check.Name)
		if heading := "### " + check.ID + " " + check.Name + "\n"; !strings.Contains(string(guide), heading) {
			t.Errorf("the guide has no heading %q", heading)
		}
	}
	shows(t, html, "schema up to date", "inside the process", "no problems")

	s.exec(t, `DELETE FROM goose_db_version WHERE version_id = (SELECT max(version_id) FROM goose_db_version)`)
	shows(t, s.visit(t, http.StatusOK, page(operationsPage, s.operator(t))), "To do: run simplevalidations migrate up")
}
