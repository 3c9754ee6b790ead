package api

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/validations"
)

// checked starts a run on a table and executes it.
func (s *stage) checked(tb testing.TB, document string) string {
	tb.Helper()
	run := s.Started(tb, s.Start(tb, "").WithBody("text/csv", document))
	s.Work(tb)
	return run.ID
}

func (s *stage) window(tb testing.TB, path string) api.DocumentWindow {
	tb.Helper()
	answered := s.Must(tb, http.StatusOK, s.reading(path))
	return fixture.Decoded[api.DocumentWindow](tb, answered)
}

func TestDocumentWindows(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int{"Inline": 100_000, "InChunks": 3*validations.MaxInlineBytes + 5} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := setup(t)
			document := table(size)
			id := s.checked(t, document)
			var text strings.Builder
			path, faults := validations.RunAddress(id)+"document/?lines=200", 0
			for path != "" {
				got := s.window(t, path)
				for _, line := range got.Lines {
					text.WriteString(line.Text + "\n")
				}
				for _, finding := range got.Findings {
					if finding.Code == "csv.type.number" {
						faults++
					}
				}
				path = string(got.Next)
			}
			if got := strings.TrimSuffix(text.String(), "\n"); got != strings.TrimSuffix(document, "\n") {
				t.Errorf("the windows have %d bytes, want the %d of the document", len(got), len(document))
			}
			if want := strings.Count(document, "much"); faults != min(want, 100) {
				t.Errorf("%d findings on the lines, want %d", faults, want)
			}
			content := s.Must(t, http.StatusOK, s.reading(validations.RunAddress(id)+"document/content/"))
			if string(content.Body) != document {
				t.Errorf("the content has %d bytes, want the %d of the document", len(content.Body), len(document))
			}
		})
	}
}

func TestDocumentLines(t *testing.T) {
	t.Parallel()
	s := setup(t)
	id := s.checked(t, fixture.SampleText(t, "bad/meter-readings.csv"))
	got := s.window(t, validations.RunAddress(id)+"document/?from=5&lines=1")
	if len(got.Lines) != 1 || got.Lines[0].Text != "MTR-1001,2026-03-01T03:00:00Z,n/a,A,night" || got.LineCount != 25 ||
		got.Kind != "table" || len(got.Findings) != 1 || got.Findings[0].Column != 31 {
		t.Errorf("window = %+v, want line 5 of 25 with its finding", got)
	}
	for previous, want := range map[api.Optional]int{got.Previous: 4, got.Next: 6} {
		if other := s.window(t, string(previous)); other.Lines[0].Number != want {
			t.Errorf("%s begins with line %d, want %d", previous, other.Lines[0].Number, want)
		}
	}
	if beyond := s.window(t, validations.RunAddress(id)+"document/?from=900"); len(beyond.Lines) != 0 ||
		beyond.LineCount != 25 {
		t.Errorf("window = %+v, want no line of 25", beyond)
	}
	for _, query := range []string{"from=0", "from=-1", "from=x", "lines=201", "lines=0", "from=99999999999999999999"} {
		s.Refused(t, api.CodeInvalidParameter, s.reading(validations.RunAddress(id)+"document/?"+query))
	}
}

// What a client has sent is never taken for a page of the service, and its name never for a header.
func TestDocumentsAreDownloads(t *testing.T) {
	t.Parallel()
	s := setup(t)
	document := "<script>alert(1)</script>\x00\xff"
	for filename, want := range map[string]string{
		"readings.csv": "attachment; filename=readings.csv",
		"":             "attachment; filename=document",
		"a\"b;c.csv":   `attachment; filename="a\"b;c.csv"`,
		"zähler.csv":   "attachment; filename*=utf-8''z%C3%A4hler.csv",
	} {
		run := s.Started(t, s.Start(t, "").WithBody("text/csv", document))
		s.Exec(t, `UPDATE submissions SET filename = $2 WHERE id = $1`, run.Submission, filename)
		got := s.Must(t, http.StatusOK, s.reading(validations.RunAddress(run.ID)+"document/content/"))
		fixture.WantHeader(t, got, map[string]string{
			"Content-Disposition": want, "Content-Type": "application/octet-stream", "Cache-Control": "no-store",
			"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "default-src 'none'; sandbox",
		})
		if string(got.Body) != document {
			t.Errorf("content = %q, want %q", got.Body, document)
		}
	}
}

func TestDocumentsThatCannotBeShown(t *testing.T) {
	t.Parallel()
	s := setup(t)
	viewer := call{Token: s.Harbour.Tokens.Viewer}
	spreadsheet := s.checked(t, "PK\x03\x04 a spreadsheet")
	got := s.window(t, validations.RunAddress(spreadsheet)+"document/")
	if got.Kind != "binary" || len(got.Lines) > 0 {
		t.Errorf("window = %+v, want one without lines", got)
	}
	s.Must(t, http.StatusOK, viewer.To(validations.RunAddress(spreadsheet)+"document/content/"))

	large := s.checked(t, table(validations.MaxInlineBytes+1))
	s.Exec(t, `UPDATE upload_chunks SET first_byte = first_byte + 1 WHERE first_byte > 0`)
	s.Refused(t, api.CodeDocumentGone, viewer.To(validations.RunAddress(large)+"document/"))

	s.Exec(t, `UPDATE submissions SET content = NULL, upload_id = NULL`)
	for _, id := range []string{spreadsheet, large} {
		for _, path := range []string{"document/", "document/content/"} {
			s.Refused(t, api.CodeDocumentGone, viewer.To(validations.RunAddress(id)+path))
		}
	}
}

// Whatever a document has, its lines are text that can be shown.
func TestHostileDocument(t *testing.T) {
	t.Parallel()
	s := setup(t)
	lines := []string{
		"<script>alert(1)</script>", "\x00\x1b[31m", "\u202egpj.exe\u200b", "\xff\xfe\xfd", strings.Repeat("x", 1<<20),
		"",
	}
	id := s.checked(t, strings.Join(lines, "\n"))
	got := s.window(t, validations.RunAddress(id)+"document/")
	var shown []string
	for _, line := range got.Lines {
		text := line.Text
		if line.Cut {
			text = fmt.Sprintf("%d of %d", len(text), line.Length)
		}
		shown = append(shown, text)
	}
	want := []string{
		"<script>alert(1)</script>", "␀␛[31m", "\ufffdgpj.exe\ufffd", "\ufffd\ufffd\ufffd", "2000 of 1048576",
	}
	if diff := cmp.Diff(want, shown); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}
