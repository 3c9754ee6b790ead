package config_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	dbtest "github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/validations"
)

// table is a table of so many bytes in which every thousandth row has a fault, and the last one is cut off.
func table(size int) string {
	var text strings.Builder
	text.WriteString("meter_id,read_at,kwh,quality,tariff\n")
	for i := 0; text.Len() < size; i++ {
		consumption := "1.5"
		if i%1000 == 0 {
			consumption = "much"
		}
		fmt.Fprintf(&text, "MTR-%04d,2026-03-01T00:00:00.%09dZ,%s,A,day\n", i%10_000, i, consumption)
	}
	return text.String()[:size]
}

// enveloped is a document in an envelope.
func enveloped(tb testing.TB, document string) string {
	tb.Helper()
	text, err := json.Marshal(map[string]string{"content": document, "content_type": "text/csv"})
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

// forms are a start with the document in each form.
func (s *stage) forms(tb testing.TB, document string) map[string]call {
	tb.Helper()
	return map[string]call{
		"raw":       s.start(tb, "raw").withBody("text/csv", document),
		"multipart": s.start(tb, "multipart").withBody(form("X", `name=file; filename=a`, "text/csv", document)),
		"envelope":  s.start(tb, "envelope").withBody("application/json", enveloped(tb, document)),
	}
}

// findings are what a run has found, as one text.
func (s *stage) findings(tb testing.TB, runID uuid.UUID) string {
	tb.Helper()
	return one[string](tb, s, `
		SELECT r.result || ' ' || r.error_count || ' ' || coalesce(string_agg(concat_ws('|', f.severity, f.code,
			f.message, f.path, f.line, f."column", f."row", f.excerpt, f.count, f.sample_rows), E'\n'
			ORDER BY f.ordinal), '')
		FROM validation_runs AS r LEFT JOIN findings AS f ON f.org_id = r.org_id AND f.run_id = r.id
		WHERE r.id = $1 GROUP BY r.org_id, r.id`, runID)
}

// keptInChunks reports how a document was stored, and that it is whole.
func (s *stage) keptInChunks(tb testing.TB, submission uuid.UUID, document string) bool {
	tb.Helper()
	const whole = `SELECT sha256(coalesce(content, (SELECT string_agg(bytes, ''::bytea ORDER BY first_byte)
		FROM upload_chunks AS c WHERE c.org_id = s.org_id AND c.upload_id = s.upload_id))) = sha256
		AND sha256 = sha256($2) AND size = $3 FROM submissions AS s WHERE id = $1`
	if !one[bool](tb, s, whole, submission, []byte(document), len(document)) {
		tb.Errorf("the submission of %d bytes is not whole", len(document))
	}
	return one[bool](tb, s, `SELECT upload_id IS NOT NULL FROM submissions WHERE id = $1`, submission)
}

func (s *stage) wantUploads(tb testing.TB, want int64) {
	tb.Helper()
	if got := one[int64](tb, s, `SELECT count(*) FROM uploads`); got != want {
		tb.Errorf("%d uploads, want %d", got, want)
	}
}

func TestStartWithALargeDocument(t *testing.T) {
	t.Parallel()
	for _, size := range []int{
		validations.MaxInlineBytes - 1, validations.MaxInlineBytes, validations.MaxInlineBytes + 1,
		2 * validations.MaxInlineBytes, 3<<20 + 1,
	} {
		t.Run(fmt.Sprintf("Of%dBytes", size), func(t *testing.T) {
			t.Parallel()
			s := setup(t)
			document := table(size)
			var found []string
			for form, c := range s.forms(t, document) {
				first := s.must(t, http.StatusCreated, c)
				wantReplay(t, first, s.do(t, c))
				run := decoded[validations.RunBody](t, first)
				chunks := s.keptInChunks(t, run.Submission, document)
				if chunks != (size > validations.MaxInlineBytes) {
					t.Errorf("%s: kept in chunks: %t", form, chunks)
				}
				s.work(t)
				found = append(found, s.findings(t, run.ID))
			}
			if !strings.HasPrefix(found[0], "FAIL") || !strings.Contains(found[0], `"much"`) {
				t.Errorf("found %.200q, want the faults of the table", found[0])
			}
			for _, other := range append(found[1:], s.findingsInline(t)) {
				if diff := cmp.Diff(found[0], other); diff != "" {
					t.Errorf("findings (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// findingsInline moves the document of a run into its submission's row, and returns what a rerun finds there.
func (s *stage) findingsInline(tb testing.TB) string {
	tb.Helper()
	s.exec(tb, `UPDATE submissions AS s SET upload_id = NULL, content = (
			SELECT string_agg(bytes, ''::bytea ORDER BY first_byte) FROM upload_chunks AS c
			WHERE c.org_id = s.org_id AND c.upload_id = s.upload_id)
		WHERE upload_id IS NOT NULL`)
	run := s.started(tb, s.rerun("", one[uuid.UUID](tb, s, `SELECT id FROM validation_runs LIMIT 1`)))
	s.work(tb)
	return s.findings(tb, run.ID)
}

func TestStartsWithLargeDocumentsAtOnce(t *testing.T) {
	t.Parallel()
	s := setup(t)
	document := table(validations.MaxInlineBytes + 1)
	var calls []call
	for range 4 {
		calls = append(calls, s.start(t, "one").withBody("text/csv", document),
			s.start(t, "").withBody("text/csv", document),
			s.start(t, "one").withBody("text/csv", document).by(s.Tiny.Tokens.Executor))
	}
	s.atOnce(t, calls)
	for _, token := range []string{s.Harbour.Tokens.Executor, s.Tiny.Tokens.Executor} {
		s.must(t, http.StatusCreated, s.start(t, "one").withBody("text/csv", document).by(token))
	}
	s.wantRows(t, rowCounts{Keys: 2, Submissions: 6, Runs: 6, Jobs: 6, Audits: 6, Used: 6})
	s.wantUploads(t, 6)
	if n := one[int64](t, s, `SELECT count(DISTINCT (org_id, upload_id)) FROM submissions`); n != 6 {
		t.Errorf("%d uploads adopted, want 6", n)
	}
}

func TestRefusedLargeDocumentsAreNotKept(t *testing.T) {
	t.Parallel()
	s := setup(t)
	document := table(2 * validations.MaxInlineBytes)
	large := s.start(t, "").withBody("text/csv", document)
	used := s.start(t, "used")
	s.must(t, http.StatusCreated, used)
	for range 3 {
		s.started(t, s.start(t, "").by(s.Tiny.Tokens.Executor))
	}
	before := s.rowCounts(t)
	for _, tt := range []struct {
		name string
		call call
		code core.Code
	}{
		{"Inactive", large.to("/api/workflows/legacy-import/start/"), core.CodeWorkflowInactive},
		{"NotAccepted", large.withBody("application/pdf", document), core.CodeUnsupportedMediaType},
		{"BeyondQuota", large.by(s.Tiny.Tokens.Executor), core.CodeQuotaExceeded},
		{"Reused", used.withBody("text/csv", document), core.CodeKeyReused},
		{
			"UnknownPart", large.withBody(form("X", "name=file", "text/csv", document, "name=b", "", "")),
			core.CodeInvalidPayload,
		},
		{
			"BadMetadata", large.withBody(form("X", "name=file", "text/csv", document, "name=metadata", "", "[]")),
			core.CodeInvalidPayload,
		},
		{
			"CutOff", large.withBody("multipart/form-data; boundary=X",
				"--X\r\nContent-Disposition: form-data; name=file\r\n\r\n"+document), core.CodeInvalidPayload,
		},
		{
			"TooDeep", large.withBody("application/json", `{"content":[`+strings.Repeat("1,", 1<<18)+
				strings.Repeat("[", 200)+strings.Repeat("]", 200)+`]}`), core.CodeInvalidPayload,
		},
	} {
		s.refused(t, tt.code, tt.call)
		if n := one[int64](t, s, `SELECT count(*) FROM uploads`); n != 0 {
			t.Errorf("%s: %d uploads, want none", tt.name, n)
		}
	}
	if diff := cmp.Diff(before, s.rowCounts(t)); diff != "" {
		t.Errorf("rows (-before +after):\n%s", diff)
	}
}

func TestReplayOfALargeDocumentWritesNothing(t *testing.T) {
	t.Parallel()
	s := setup(t)
	document := table(validations.MaxInlineBytes + 1)
	calls := s.forms(t, document)
	first := map[string]answer{}
	for name, c := range calls {
		first[name] = s.must(t, http.StatusCreated, c)
	}
	s.exec(t, `ALTER TABLE upload_chunks RENAME TO away`)
	for name, c := range calls {
		wantReplay(t, first[name], s.do(t, c))
	}
	s.refused(t, core.CodeKeyReused, calls["raw"].withBody("text/csv", document+"\n"))
	problem := wantRetryLater(t, s.do(t, s.start(t, "new").withBody("text/csv", document)), core.CodeUnavailable, 1, 1)
	if !problem.Retryable {
		t.Errorf("problem = %+v, want a retryable one", problem)
	}
	s.wantRows(t, rowCounts{Keys: 3, Submissions: 3, Runs: 3, Jobs: 3, Audits: 3, Used: 3})
}

func TestUploadThatBreaksOffIsNotKept(t *testing.T) {
	t.Parallel()
	s := setup(t)
	conn, err := net.DialTimeout("tcp", s.address, patience)
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(conn, io.MultiReader(strings.NewReader("POST /api/workflows/meter-readings/start/ HTTP/1.1\r\n"+
		"Host: localhost\r\nContent-Type: text/csv\r\nIdempotency-Key: broken\r\nContent-Length: 1000000\r\n"+
		"Authorization: Bearer "+s.Harbour.Tokens.Executor+"\r\n\r\n"),
		bytes.NewReader(make([]byte, 2*validations.MaxInlineBytes+1))))
	if err != nil {
		t.Fatal(err)
	}
	chunks := func() int64 { return one[int64](t, s, `SELECT count(*) FROM upload_chunks`) }
	dbtest.Eventually(t, func() bool { return chunks() == 2 })
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	dbtest.Eventually(t, func() bool { return chunks() == 0 })
	s.wantUploads(t, 0)
	s.wantRows(t, rowCounts{})
}

func TestUploadSweptBeforeItsStartIsAskedForAgain(t *testing.T) {
	t.Parallel()
	s := setup(t)
	c := s.start(t, "swept").withBody("text/csv", table(validations.MaxInlineBytes+1))
	s.exec(t, `CREATE FUNCTION sweep() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN DELETE FROM uploads WHERE org_id = NEW.org_id AND id = NEW.upload_id; RETURN NEW; END $$`)
	s.exec(t, `CREATE TRIGGER tr_sweep BEFORE INSERT ON submissions FOR EACH ROW EXECUTE FUNCTION sweep()`)
	problem := wantRetryLater(t, s.do(t, c), core.CodeUnavailable, 1, 1)
	if !problem.Retryable || !strings.Contains(problem.Detail, "Nothing was started") {
		t.Errorf("problem = %+v, want a retryable one that says that nothing was started", problem)
	}
	s.wantRows(t, rowCounts{})
	s.exec(t, `DROP TRIGGER tr_sweep ON submissions`)
	s.must(t, http.StatusCreated, c)
}

func TestOverageOfALargeDocument(t *testing.T) {
	t.Parallel()
	s := setupOverage(t)
	document := table(validations.MaxInlineBytes + 1)
	c := s.start(t, "beyond").withBody("text/csv", document)
	first := s.do(t, c)
	run := wantFirst(t, first)
	if !s.keptInChunks(t, run.Submission, document) {
		t.Error("the document was not kept in chunks")
	}
	wantReplay(t, first, s.do(t, c))
	s.wantUploads(t, 1)
	s.wantBooks(t, books{Overage: 1, Runs: 1, Staged: 1, Charges: 1})
	s.work(t)
	if found := s.findings(t, run.ID); !strings.HasPrefix(found, "FAIL") {
		t.Errorf("found %.100q, want the faults of the table", found)
	}
}

func TestLaunchOfALargeDocument(t *testing.T) {
	t.Parallel()
	s := setup(t)
	session := s.visitor(t, core.RoleExecutor)
	document := table(validations.MaxInlineBytes + 1)
	blank := filledIn(t, s.visit(t, http.StatusOK, page(launchMeters, session)))
	chosen := blank.file("readings.csv", "text/csv", document)
	s.visit(t, http.StatusBadRequest, chosen.with("text", document).to(t, launchMeters, session))
	s.wantUploads(t, 0)
	pasted := blank.file("", "application/octet-stream", "").with("text", document)
	to := s.launched(t, pasted.to(t, launchMeters, session))
	if again := s.launched(t, pasted.to(t, launchMeters, session)); again != to {
		t.Errorf("the form sent again leads to %s, want %s", again, to)
	}
	s.wantUploads(t, 1)
	if !s.keptInChunks(t, one[uuid.UUID](t, s, `SELECT id FROM submissions`), document) {
		t.Error("the document was not kept in chunks")
	}
}
