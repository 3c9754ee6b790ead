package pages

import (
	"encoding/csv"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
)

func TestRunsAreFoundByAPartOfKeyOrDocument(t *testing.T) {
	t.Parallel()
	s := setup(t)
	list := harbour("runs/", s.Visitor(t, api.RoleViewer))
	invoice := s.Started(t, s.named(t, "invoice-2026-11-4711", "a.csv", "good/meter-readings.csv")).ID
	harbour := s.Started(t, s.named(t, "", "Harbour_100%.csv", "good/meter-readings.csv")).ID
	s.Started(t, s.Start(t, "invoice-2026-11-4711").By(s.Tiny.Tokens.Executor))
	for text, want := range map[string][]string{
		"2026-11":    {invoice},
		"INVOICE":    {invoice},
		"harbour_1":  {harbour},
		"100%":       {harbour},
		"100_":       nil,
		"r_100\\":    nil,
		".csv":       {harbour, invoice},
		"not there":  nil,
		"'; DROP --": nil,
	} {
		html := s.see(t, list.To(fixture.HarbourPages+"runs/?"+url.Values{"q": {text}}.Encode()))
		if diff := cmp.Diff(want, listed(html)); diff != "" {
			t.Errorf("%q finds (-want +got):\n%s", text, diff)
		}
	}
}

func TestFiltersOfRunsAreChips(t *testing.T) {
	t.Parallel()
	s := setup(t)
	list := harbour("runs/", s.Visitor(t, api.RoleViewer))
	old := s.Started(t, s.Start(t, "old")).ID
	fresh := s.Started(t, s.Start(t, "fresh")).ID
	s.Exec(t, `UPDATE validation_runs SET created_at = created_at - interval '2 hours' WHERE id = $1`, old)
	html := s.see(t, list.To(fixture.HarbourPages+"runs/?q=r&workflow=meter-readings&period=1h&result=UNKNOWN"))
	if diff := cmp.Diff([]string{fresh}, listed(html)); diff != "" {
		t.Errorf("runs of the last hour (-want +got):\n%s", diff)
	}
	fixture.Shows(t, html, "Contains: r ", "Workflow: Meter readings", "Started: Last hour", "Result: In progress",
		`<option value="meter-readings" selected>Meter readings</option>`,
		`<a class="chip" href="?period=1h&amp;q=r&amp;result=UNKNOWN">`,
		`<a href="?period=1h&amp;q=r&amp;result=FAIL&amp;workflow=meter-readings">Failed</a>`)
	refused := s.Visit(t, http.StatusBadRequest, list.To(fixture.HarbourPages+"runs/?period=3y"))
	fixture.Shows(t, refused, `href="#period"`)
}

func TestSelectedRunsAreRerunOnce(t *testing.T) {
	t.Parallel()
	s := setup(t)
	executor := s.Visitor(t, api.RoleExecutor)
	first := s.Started(t, s.named(t, "", "picked.csv", "good/meter-readings.csv")).ID
	second := s.Started(t, s.Start(t, "")).ID
	s.Work(t)
	waiting := s.Started(t, s.Start(t, "")).ID
	address := fixture.HarbourPages + "select-runs/"
	chosen := []string{first, second, first, waiting, uuid.NewString(), "no id"}
	html := s.see(t, fixture.Post(address, executor, url.Values{"action": {"rerun"}, "run": chosen}))
	fixture.Shows(t, html, "Rerun 2 runs?", "<bdi>picked.csv</bdi>", "2 selected runs left out")
	form := url.Values{
		"action": {"rerun"}, "confirmed": {"true"}, "key": {fixture.Hidden(t, html, "key")},
		"run": {first, second},
	}
	before := s.RowCounts(t)
	for range 2 {
		got := s.AnswerTo(t, fixture.Post(address, executor, form))
		if got.Status != http.StatusSeeOther || got.Header.Get("Location") != fixture.HarbourPages+"runs/" {
			t.Fatalf("answer = %d to %s, want 303 to the list", got.Status, got.Header.Get("Location"))
		}
	}
	after := s.RowCounts(t)
	if after.Runs != before.Runs+2 || after.Used != before.Used+2 {
		t.Errorf("rows before = %+v, after = %+v, want two runs more", before, after)
	}
	reruns := coretest.One[int](t, s.DB, `SELECT count(*)::int FROM audit_records AS a
		JOIN validation_runs AS r ON r.id::text = a.target_id WHERE r.rerun_of IN ($1, $2)`, first, second)
	if reruns != 2 {
		t.Errorf("audit records of the reruns = %d, want one each", reruns)
	}
	for name, form := range map[string]url.Values{
		"NoKey":    {"action": {"rerun"}, "confirmed": {"true"}, "run": {first}},
		"Nothing":  {"action": {"rerun"}},
		"TooMany":  {"action": {"rerun"}, "run": manyIDs(core.DefaultPageSize + 1)},
		"Foreign":  {"action": {"cancel"}, "confirmed": {"true"}, "run": {uuid.NewString()}},
		"NoAction": {"run": {first}},
	} {
		got := s.AnswerTo(t, fixture.Post(address, executor, form))
		if got.Status >= http.StatusInternalServerError {
			t.Errorf("%s: status = %d", name, got.Status)
		}
	}
	if got := s.RowCounts(t); got.Runs != after.Runs {
		t.Errorf("runs = %d, want no more than %d", got.Runs, after.Runs)
	}
}

func manyIDs(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = uuid.NewString()
	}
	return ids
}

func TestSelectedRunsAreCanceled(t *testing.T) {
	t.Parallel()
	s := setup(t)
	executor := s.Visitor(t, api.RoleExecutor)
	one, other := s.Started(t, s.Start(t, "")).ID, s.Started(t, s.Start(t, "")).ID
	form := url.Values{"action": {"cancel"}, "confirmed": {"true"}, "run": {one, other}}
	for range 2 {
		s.AnswerTo(t, harbourForm("select-runs/", executor, form))
	}
	if n := coretest.One[int](t, s.DB, `SELECT count(*)::int FROM audit_records WHERE action = 'run.cancel'`); n != 2 {
		t.Errorf("audit records = %d, want one for each run", n)
	}
}

func TestRunsAreExported(t *testing.T) {
	t.Parallel()
	s := setup(t)
	viewer := s.Visitor(t, api.RoleViewer)
	s.Started(t, s.named(t, "=1+1", "@SUM(A1).csv", "bad/meter-readings.csv"))
	s.Started(t, s.named(t, "k-2", "b.csv", "good/meter-readings.csv"))
	s.Started(t, s.Start(t, "foreign").By(s.Tiny.Tokens.Executor))
	s.Work(t)
	answer := s.AnswerTo(t, harbour("export-runs/?workflow=meter-readings", viewer))
	if got := answer.Header.Get("Content-Disposition"); got != `attachment; filename="runs.csv"` {
		t.Errorf("Content-Disposition = %q", got)
	}
	rows, err := csv.NewReader(strings.NewReader(string(answer.Body))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var got [][]string
	for _, row := range rows {
		got = append(got, []string{row[4], row[7], row[8], row[12]})
	}
	want := [][]string{
		{"result", "document", "errors", "idempotency_key"},
		{"PASS", "b.csv", "0", "k-2"},
		{"FAIL", "'@SUM(A1).csv", "8", "'=1+1"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
	if got := s.AnswerTo(t, harbour("export-runs/?result=NO", viewer)); got.Status != 400 {
		t.Errorf("status = %d, want 400", got.Status)
	}
}

// TestExportGoesOn has more runs than are read at a time.
func TestExportGoesOn(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.Started(t, s.Start(t, ""))
	s.Exec(t, `INSERT INTO validation_runs SELECT (jsonb_populate_record(r, jsonb_build_object(
			'id', gen_random_uuid(), 'idempotency_key_id', NULL))).*
		FROM validation_runs AS r CROSS JOIN generate_series(1, 1100)`)
	answer := s.AnswerTo(t, harbour("export-runs/", s.Visitor(t, api.RoleViewer)))
	if got := strings.Count(string(answer.Body), "\r\n"); got != 1102 {
		t.Errorf("lines = %d, want a header and 1101 runs", got)
	}
}
