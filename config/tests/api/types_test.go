package api

import (
	"fmt"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
)

// recordedUpload is a request as a client sends it, recorded from the wire with places for what differs.
type recordedUpload struct {
	client, header, body string
}

// isForm reports whether the document is a part of a form.
func (r recordedUpload) isForm() bool { return strings.Contains(r.body, "form-data") }

// typeOf is what the client declares of a file where it looks at the name.
func (r recordedUpload) typeOf(filename string) string {
	known := map[string]map[string]string{
		"curl -F file=@FILE": {".xml": "application/xml"},
		"httpx.post(files=) on Debian": {
			".csv": "text/csv", ".json": "application/json", ".xml": "application/xml",
		},
		"httpx.post(files=) on Windows": {
			".csv": "application/vnd.ms-excel", ".json": "application/json", ".xml": "text/xml",
		},
	}
	if declared, found := known[r.client][path.Ext(filename)]; found {
		return declared
	}
	return "application/octet-stream"
}

// recordedUploads reads the requests. Their lines end in CR LF; nothing follows a document that is the body.
func recordedUploads(tb testing.TB) []recordedUpload {
	tb.Helper()
	records, err := os.ReadFile(filepath.Join("testdata", "uploads.http"))
	if err != nil {
		tb.Fatal(err)
	}
	var all []recordedUpload
	for record := range strings.SplitSeq(string(records), "###\n") {
		title, wire, _ := strings.Cut(record, "\n")
		header, body, found := strings.Cut(strings.ReplaceAll(wire, "\n", "\r\n"), "\r\n\r\n")
		if !found {
			tb.Fatalf("the record %s has no body", title)
		}
		if body == "{document}\r\n" {
			body = "{document}"
		}
		all = append(all, recordedUpload{strings.TrimPrefix(title, "# "), header, body})
	}
	return all
}

// sendUpload has the client send the document, and returns the answer.
func (s *stage) sendUpload(tb testing.TB, r recordedUpload, to, key, filename, document string) answer {
	tb.Helper()
	body := strings.NewReplacer("{name}", filename, "{type}", r.typeOf(filename), "{document}", document).
		Replace(r.body)
	header := strings.NewReplacer("{path}", to, "{token}", s.Harbour.Tokens.Executor, "{name}", filename,
		"{length}", strconv.Itoa(len(body))).Replace(r.header)
	return s.exchange(tb, header+"\r\nIdempotency-Key: "+key+"\r\n\r\n"+body)
}

// mediaType is the stored type of the document of a run.
func (s *stage) mediaType(tb testing.TB, run string) string {
	tb.Helper()
	return coretest.One[string](tb, s.DB, `SELECT s.media_type FROM submissions AS s JOIN validation_runs AS r
		ON r.org_id = s.org_id AND r.submission_id = s.id WHERE r.id = $1`, run)
}

// TestStartTakesFilesOfAnyClient sends each file as each client does: all are taken on the first try, and a retry by
// another client is a retry.
func TestStartTakesFilesOfAnyClient(t *testing.T) {
	t.Parallel()
	s := setup(t)
	uploads := recordedUploads(t)
	if len(uploads) != 12 {
		t.Fatalf("found %d recorded clients, want 12", len(uploads))
	}
	for _, tt := range []struct {
		name, filename, document string
		accepts                  []string
		want                     string
	}{
		{"JSON", "building.json", `{"building": 1}`, []string{"application/json"}, "application/json"},
		{"CSV", "readings.csv", "a,b\r\n1,2\r\n", []string{"text/csv"}, "text/csv"},
		{"YAML", "building.yaml", "building: 1\n", []string{"text/csv", "application/yaml"}, "application/yaml"},
		{"XMLAsText", "meters.xml", "<meters/>", []string{"text/xml"}, "text/xml"},
		{"XML", "meters.xml", "<meters/>", []string{"application/xml"}, "application/xml"},
		{"IDF", "office.idf", "Version,9.4;\n", []string{"application/json", "text/plain"}, "text/plain"},
		{"EPJSON", "office.epJSON", `{"Version": {}}`, []string{"application/json", "text/plain"}, "application/json"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			address := s.AddTyped(t, "typed-"+strings.ToLower(tt.name), tt.accepts...)
			first := map[bool]answer{}
			for _, client := range uploads {
				got := s.sendUpload(t, client, address, tt.name+" "+client.client, tt.filename, tt.document)
				if got.Status != http.StatusCreated || got.Header.Get("Idempotent-Replayed") != "" {
					t.Errorf("%s: status = %d, want a new run; body %s", client.client, got.Status, got.Body)
					continue
				}
				if found := s.mediaType(t, fixture.Decoded[api.Run](t, got).ID); found != tt.want {
					t.Errorf("%s: media type = %s, want %s", client.client, found, tt.want)
				}
				key := fmt.Sprintf("%s in a form: %t", tt.name, client.isForm())
				again := s.sendUpload(t, client, address, key, tt.filename, tt.document)
				if earlier, found := first[client.isForm()]; found {
					fixture.WantReplay(t, earlier, again)
				} else {
					first[client.isForm()] = again
				}
			}
		})
	}
}

func TestStartRefusesOtherTypes(t *testing.T) {
	t.Parallel()
	s := setup(t)
	table := s.Start(t, "").To(s.AddTyped(t, "table", "text/csv"))
	file := func(filename, contentType string) call {
		return table.WithBody(form("X", `name="file"; filename="`+filename+`"`, contentType, "a"))
	}
	for name, tt := range map[string]struct {
		call   call
		detail string
	}{
		"Declared": {
			file("a.csv", "text/plain"), "The workflow does not accept text/plain. It accepts text/csv. " +
				"Send a document of one of these types, or declare its type if it is one.",
		},
		"OfTheName": {
			file("a.json", ""), "The workflow does not accept application/json. It accepts text/csv. " +
				"The type is derived from the file extension; declare another one if the name is wrong.",
		},
		"OfNoName": {
			file("a", ""), "The workflow does not accept application/octet-stream. It accepts text/csv. " +
				"Declare the type of the document, or give it a file name with the right extension.",
		},
		"OfAnyBody": {
			table.WithBody("application/x-www-form-urlencoded", "a"), "The workflow does not accept " +
				"application/x-www-form-urlencoded. It accepts text/csv. " +
				"curl and others declare this type for any body. " +
				"Set Content-Type to the type of the document, or X-Filename to its name.",
		},
	} {
		t.Run("Refuses"+name, func(t *testing.T) {
			t.Parallel()
			problem := fixture.WantProblem(t, s.Do(t, tt.call), api.CodeUnsupportedMediaType)
			if diff := cmp.Diff(tt.detail, problem.Detail); diff != "" {
				t.Errorf("detail (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRetryOutlivesWhatAWorkflowTakes repeats a start, as another client sends it, after the workflow has got a version
// that takes no such document.
func TestRetryOutlivesWhatAWorkflowTakes(t *testing.T) {
	t.Parallel()
	s := setup(t)
	address := s.AddTyped(t, "changing", "text/plain", "text/csv")
	file := func(contentType string) call {
		return s.Start(t, "kept").To(address).WithBody(form("X", `name="file"; filename="a.csv"`, contentType, "a,b\n"))
	}
	first := s.Must(t, http.StatusCreated, file(""))
	take := func(accepts string) {
		s.Must(t, http.StatusCreated, s.versionOf("", "").To("/api/workflows/changing/versions/").WithBody(
			"application/json", `{"definition":{"accepts":["`+accepts+`"],"steps":[
			{"id":"a","name":"A","type":"json_schema","config":{"schema":{}}}]}}`))
	}

	take("text/plain")
	fixture.WantReplay(t, first, s.Do(t, file("text/csv")))
	s.Refused(t, api.CodeUnsupportedMediaType, file("text/csv").With("Idempotency-Key", "new"))
	s.Refused(t, api.CodeKeyReused, file("text/plain"))

	take("application/xml")
	for _, contentType := range []string{"", "application/octet-stream", "text/csv", "application/vnd.ms-excel"} {
		fixture.WantReplay(t, first, s.Do(t, file(contentType)))
		s.Refused(t, api.CodeUnsupportedMediaType, file(contentType).With("Idempotency-Key", "new"))
	}
	s.wantRows(t, fixture.RowCounts{Keys: 1, Submissions: 1, Runs: 1, Jobs: 1, Audits: 1, Used: 1})
}
