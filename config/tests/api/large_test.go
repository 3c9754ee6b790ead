package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
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
		"raw":       s.Start(tb, "raw").WithBody("text/csv", document),
		"multipart": s.Start(tb, "multipart").WithBody(form("X", `name=file; filename=a`, "text/csv", document)),
		"envelope":  s.Start(tb, "envelope").WithBody("application/json", enveloped(tb, document)),
	}
}

// findings are what a run has found, as one text.
func (s *stage) findings(tb testing.TB, runID string) string {
	tb.Helper()
	return coretest.One[string](tb, s.DB, `
		SELECT r.result || ' ' || r.error_count || ' ' || coalesce(string_agg(concat_ws('|', f.severity, f.code,
			f.message, f.path, f.line, f."column", f."row", f.excerpt, f.count, f.sample_rows), E'\n'
			ORDER BY f.ordinal), '')
		FROM validation_runs AS r LEFT JOIN findings AS f ON f.org_id = r.org_id AND f.run_id = r.id
		WHERE r.id = $1 GROUP BY r.org_id, r.id`, runID)
}

// keptInChunks reports how a document was stored, and that it is whole.
func (s *stage) keptInChunks(tb testing.TB, submission, document string) bool {
	tb.Helper()
	digest := fmt.Sprintf(`\x%x`, sha256.Sum256([]byte(document)))
	coretest.WantRow(tb, s.DB, coretest.Row{
		"stored": digest, "sha256": digest, "size": strconv.Itoa(len(document)),
	}, `SELECT sha256(coalesce(content, (SELECT string_agg(bytes, ''::bytea ORDER BY first_byte)
			FROM upload_chunks AS c WHERE c.org_id = s.org_id AND c.upload_id = s.upload_id))) AS stored, sha256, size
		FROM submissions AS s WHERE id = $1`, submission)
	return coretest.One[bool](tb, s.DB, `SELECT upload_id IS NOT NULL FROM submissions WHERE id = $1`, submission)
}

func (s *stage) wantUploads(tb testing.TB, want int64) {
	tb.Helper()
	if got := coretest.One[int64](tb, s.DB, `SELECT count(*) FROM uploads`); got != want {
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
				first := s.Must(t, http.StatusCreated, c)
				fixture.WantReplay(t, first, s.Do(t, c))
				run := fixture.Decoded[api.Run](t, first)
				chunks := s.keptInChunks(t, run.Submission, document)
				if chunks != (size > validations.MaxInlineBytes) {
					t.Errorf("%s: kept in chunks: %t", form, chunks)
				}
				s.Work(t)
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
	s.Exec(tb, `UPDATE submissions AS s SET upload_id = NULL, content = (
			SELECT string_agg(bytes, ''::bytea ORDER BY first_byte) FROM upload_chunks AS c
			WHERE c.org_id = s.org_id AND c.upload_id = s.upload_id)
		WHERE upload_id IS NOT NULL`)
	run := s.Started(tb, s.Rerun("", coretest.One[string](tb, s.DB, `SELECT id::text FROM validation_runs LIMIT 1`)))
	s.Work(tb)
	return s.findings(tb, run.ID)
}

func TestStartsWithLargeDocumentsAtOnce(t *testing.T) {
	t.Parallel()
	s := setup(t)
	document := table(validations.MaxInlineBytes + 1)
	var calls []call
	for range 4 {
		calls = append(calls, s.Start(t, "one").WithBody("text/csv", document),
			s.Start(t, "").WithBody("text/csv", document),
			s.Start(t, "one").WithBody("text/csv", document).By(s.Tiny.Tokens.Executor))
	}
	s.AtOnce(t, calls)
	for _, token := range []string{s.Harbour.Tokens.Executor, s.Tiny.Tokens.Executor} {
		s.Must(t, http.StatusCreated, s.Start(t, "one").WithBody("text/csv", document).By(token))
	}
	s.wantRows(t, fixture.RowCounts{Keys: 2, Submissions: 6, Runs: 6, Jobs: 6, Audits: 6, Used: 6})
	s.wantUploads(t, 6)
	if n := coretest.One[int64](t, s.DB, `SELECT count(DISTINCT (org_id, upload_id)) FROM submissions`); n != 6 {
		t.Errorf("%d uploads adopted, want 6", n)
	}
}

func TestRefusedLargeDocumentsAreNotKept(t *testing.T) {
	t.Parallel()
	s := setup(t)
	document := table(2 * validations.MaxInlineBytes)
	large := s.Start(t, "").WithBody("text/csv", document)
	used := s.Start(t, "used")
	s.Must(t, http.StatusCreated, used)
	for range 3 {
		s.Started(t, s.Start(t, "").By(s.Tiny.Tokens.Executor))
	}
	before := s.RowCounts(t)
	for _, tt := range []struct {
		name string
		call call
		code api.Code
	}{
		{"Inactive", large.To("/api/workflows/legacy-import/start/"), api.CodeWorkflowInactive},
		{"NotAccepted", large.WithBody("application/pdf", document), api.CodeUnsupportedMediaType},
		{"BeyondQuota", large.By(s.Tiny.Tokens.Executor), api.CodeQuotaExceeded},
		{"Reused", used.WithBody("text/csv", document), api.CodeKeyReused},
		{
			"UnknownPart", large.WithBody(form("X", "name=file", "text/csv", document, "name=b", "", "")),
			api.CodeInvalidPayload,
		},
		{
			"BadMetadata", large.WithBody(form("X", "name=file", "text/csv", document, "name=metadata", "", "[]")),
			api.CodeInvalidPayload,
		},
		{
			"CutOff", large.WithBody("multipart/form-data; boundary=X",
				"--X\r\nContent-Disposition: form-data; name=file\r\n\r\n"+document), api.CodeInvalidPayload,
		},
		{
			"TooDeep", large.WithBody("application/json", `{"content":[`+strings.Repeat("1,", 1<<18)+
				strings.Repeat("[", 200)+strings.Repeat("]", 200)+`]}`), api.CodeInvalidPayload,
		},
	} {
		s.Refused(t, tt.code, tt.call)
		if n := coretest.One[int64](t, s.DB, `SELECT count(*) FROM uploads`); n != 0 {
			t.Errorf("%s: %d uploads, want none", tt.name, n)
		}
	}
	if diff := cmp.Diff(before, s.RowCounts(t)); diff != "" {
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
		first[name] = s.Must(t, http.StatusCreated, c)
	}
	s.Exec(t, `ALTER TABLE upload_chunks RENAME TO away`)
	for name, c := range calls {
		fixture.WantReplay(t, first[name], s.Do(t, c))
	}
	s.Refused(t, api.CodeKeyReused, calls["raw"].WithBody("text/csv", document+"\n"))
	problem := wantRetryLater(t, s.Do(t, s.Start(t, "new").WithBody("text/csv", document)), api.CodeUnavailable, 1)
	if !problem.Retryable {
		t.Errorf("problem = %+v, want a retryable one", problem)
	}
	s.wantRows(t, fixture.RowCounts{Keys: 3, Submissions: 3, Runs: 3, Jobs: 3, Audits: 3, Used: 3})
}

func TestUploadThatBreaksOffIsNotKept(t *testing.T) {
	t.Parallel()
	s := setup(t)
	conn, err := net.DialTimeout("tcp", s.Address, fixture.Patience)
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.SetDeadline(time.Now().Add(fixture.Patience)); err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(conn, io.MultiReader(strings.NewReader("POST /api/workflows/meter-readings/start/ HTTP/1.1\r\n"+
		"Host: localhost\r\nContent-Type: text/csv\r\nIdempotency-Key: broken\r\nContent-Length: 1000000\r\n"+
		"Authorization: Bearer "+s.Harbour.Tokens.Executor+"\r\n\r\n"),
		bytes.NewReader(make([]byte, 2*validations.MaxInlineBytes+1))))
	if err != nil {
		t.Fatal(err)
	}
	chunks := func() int64 { return coretest.One[int64](t, s.DB, `SELECT count(*) FROM upload_chunks`) }
	coretest.Eventually(t, func() bool { return chunks() == 2 })
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	coretest.Eventually(t, func() bool { return chunks() == 0 })
	s.wantUploads(t, 0)
	s.wantRows(t, fixture.RowCounts{})
}

func TestUploadSweptBeforeItsStartIsAskedForAgain(t *testing.T) {
	t.Parallel()
	s := setup(t)
	c := s.Start(t, "swept").WithBody("text/csv", table(validations.MaxInlineBytes+1))
	s.Exec(t, `CREATE FUNCTION sweep() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN DELETE FROM uploads WHERE org_id = NEW.org_id AND id = NEW.upload_id; RETURN NEW; END $$`)
	s.Exec(t, `CREATE TRIGGER tr_sweep BEFORE INSERT ON submissions FOR EACH ROW EXECUTE FUNCTION sweep()`)
	problem := wantRetryLater(t, s.Do(t, c), api.CodeUnavailable, 1)
	if !problem.Retryable || !strings.Contains(problem.Detail, "Nothing was started") {
		t.Errorf("problem = %+v, want a retryable one that says that nothing was started", problem)
	}
	s.wantRows(t, fixture.RowCounts{})
	s.Exec(t, `DROP TRIGGER tr_sweep ON submissions`)
	s.Must(t, http.StatusCreated, c)
}

func TestOverageOfALargeDocument(t *testing.T) {
	t.Parallel()
	s := setupOverage(t)
	document := table(validations.MaxInlineBytes + 1)
	c := s.Start(t, "beyond").WithBody("text/csv", document)
	first := s.Do(t, c)
	run := wantFirst(t, first)
	if !s.keptInChunks(t, run.Submission, document) {
		t.Error("the document was not kept in chunks")
	}
	fixture.WantReplay(t, first, s.Do(t, c))
	s.wantUploads(t, 1)
	s.wantBooks(t, books{Overage: 1, Runs: 1, Staged: 1, Charges: 1})
	s.Work(t)
	if found := s.findings(t, run.ID); !strings.HasPrefix(found, "FAIL") {
		t.Errorf("found %.100q, want the faults of the table", found)
	}
}

func TestLaunchOfALargeDocument(t *testing.T) {
	t.Parallel()
	s := setup(t)
	session := s.Visitor(t, api.RoleExecutor)
	document := table(validations.MaxInlineBytes + 1)
	blank := fixture.FilledIn(t, s.Visit(t, http.StatusOK, fixture.Page(fixture.LaunchMeters, session)))
	chosen := blank.File("readings.csv", "text/csv", document)
	s.Visit(t, http.StatusBadRequest, chosen.With("text", document).To(t, fixture.LaunchMeters, session))
	s.wantUploads(t, 0)
	pasted := blank.File("", "application/octet-stream", "").With("text", document)
	to := s.Launched(t, pasted.To(t, fixture.LaunchMeters, session))
	if again := s.Launched(t, pasted.To(t, fixture.LaunchMeters, session)); again != to {
		t.Errorf("the form sent again leads to %s, want %s", again, to)
	}
	s.wantUploads(t, 1)
	if !s.keptInChunks(t, coretest.One[string](t, s.DB, `SELECT id::text FROM submissions`), document) {
		t.Error("the document was not kept in chunks")
	}
}
