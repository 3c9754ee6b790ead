package cli

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/validations"
)

func TestRunsCommands(t *testing.T) {
	t.Parallel()

	t.Run("ListShowsStuckAndFailedRuns", func(t *testing.T) {
		t.Parallel()
		s := fixture.Setup(t)
		c := s.Console(t)
		list := []string{"admin", "runs", "list", "--org", "harbour-energy"}
		waiting := s.Started(t, s.Start(t, ""))
		dead := s.Started(t, s.Start(t, ""))
		s.Exec(t, `UPDATE validation_runs SET attempts = 5 WHERE id = $1`, dead.ID)
		s.Exec(t, `DELETE FROM staged_jobs WHERE subject_id = $1`, waiting.ID)
		s.Work(t)
		for filter, want := range map[string]string{
			"": dead.ID + " " + waiting.ID, "--result ERROR": dead.ID,
			"--state PENDING": waiting.ID, "--limit 1": dead.ID, "--workflow building": "",
			"--source API --limit 1": dead.ID, "--source CLI": "", "--key none": "",
			"--since 2026-01-01 --state PENDING": waiting.ID, "--until 2026-01-01": "",
		} {
			code, out, complaint := c.Run(t, append(list, strings.Fields(filter)...)...)
			ids := regexp.MustCompile(`(?m)^[0-9a-f-]{36}`).FindAllString(out, -1)
			if got := strings.Join(ids, " "); code != 0 || got != want {
				t.Errorf("runs list %s = %d %q, want %q; %s", filter, code, got, want, complaint)
			}
		}
		if _, out, _ := c.Run(t, list...); !strings.Contains(out, "started 5 times") {
			t.Errorf("list = %s, want why the run ended", out)
		}
		for _, wrong := range []string{
			"--result GOOD", "--state x", "--limit 0", "--limit 201", "--source x", "--since x",
		} {
			if code, _, _ := c.Run(t, append(list, strings.Fields(wrong)...)...); code != 2 {
				t.Errorf("runs list %s = %d, want 2", wrong, code)
			}
		}
	})

	t.Run("RequeueMovesWhatDoesNotMove", func(t *testing.T) {
		t.Parallel()
		s := fixture.Setup(t)
		c := s.Console(t)
		run := s.Started(t, s.Start(t, ""))
		s.Exec(t, `DELETE FROM staged_jobs`)
		requeue := []string{"admin", "runs", "requeue", run.ID, "--org", "harbour-energy"}
		if code, out, complaint := c.Run(t, requeue...); code != 0 || !strings.Contains(out, run.ID) {
			t.Fatalf("requeue = %d %q %s, want 0", code, out, complaint)
		}
		if n, err := s.Executor.Sweep(t.Context()); n != 1 || err != nil {
			t.Fatalf("Sweep = %d, %v, want the run", n, err)
		}
		s.Work(t)
		if code, _, complaint := c.Run(t, requeue...); code != 1 || !strings.Contains(complaint, "PASS") {
			t.Errorf("requeue of a completed run = %d %q, want 1 and how it ended", code, complaint)
		}
		requeue[5] = "tiny-quota"
		if code, _, _ := c.Run(t, requeue...); code != 1 {
			t.Errorf("requeue of another organization's run = %d, want 1", code)
		}
		if n := coretest.One[int](t, s.DB, `SELECT count(*) FROM audit_records WHERE action = 'run.requeue'`); n != 1 {
			t.Errorf("audit records = %d, want 1", n)
		}
	})
}

func TestRetention(t *testing.T) {
	t.Parallel()
	s := fixture.Setup(t)
	c := s.Console(t)
	start := s.Start(t, "old").WithBody("text/csv", fixture.SampleText(t, "bad/meter-readings.csv"))
	first := s.Must(t, http.StatusCreated, start)
	id := fixture.Decoded[api.Run](t, first).ID
	s.Work(t)
	read := start.To(validations.RunAddress(id)).Get()
	before := fixture.Decoded[api.Run](t, s.Must(t, http.StatusOK, read))
	s.Exec(t, `UPDATE validation_runs SET created_at = created_at - interval '3 days',
		started_at = started_at - interval '3 days', ended_at = ended_at - interval '3 days'`)
	code, out, complaint := c.Run(t, "admin", "purge")
	want := "deleted the documents of 1 run and the findings of 1 run\n"
	if code != 0 || !strings.HasSuffix(out, want) {
		t.Errorf("purge = %d %q, want %q; %s", code, out, want, complaint)
	}
	after := fixture.Decoded[api.Run](t, s.Must(t, http.StatusOK, read))
	if after.Counts != before.Counts || after.Result != "FAIL" || after.Steps[0].Counts != before.Counts ||
		len(after.Steps[0].Issues) != 0 || after.ContentPurgedAt.IsZero() || after.FindingsPurgedAt.IsZero() {
		t.Errorf("run after the purge = %+v, want its result, its counts and when the rest was removed", after)
	}
	fixture.WantReplay(t, first, s.Do(t, start))
	s.Refused(t, api.CodeDocumentGone, s.Rerun("", id))
}
