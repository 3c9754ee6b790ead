package api

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/workflows"
)

// FuzzStart sends starts of all shapes. Whatever is sent is refused with a reason and leaves nothing behind, or starts
// one run; another process answers it again in the same way, and without its key it means the same.
func FuzzStart(f *testing.F) {
	s := setup(f)
	s.AddWorkflow(f, s.Harbour, workflows.Draft{
		Slug: "any", Name: "Any", IsActive: true, Definition: validations.Definition{
			Accepts: []string{"application/json", "text/csv", "text/plain", "application/octet-stream"},
			Steps:   []validations.Step{{ID: "any", Name: "Any", Type: "json_schema", Config: []byte(`{"schema":{}}`)}},
		},
	})
	beside := &stage{s.Beside(f)}
	for shape := range uint8(64) {
		f.Add(shape, "application/json", "a.json", `{"a":1}`, []byte(`{"rooms":[1,2.50,"\u00e4"]}`))
		f.Add(shape, "text/csv; charset=utf-8", "b/ä\x00.csv", "[]", []byte("meter_id,kwh\r\n\"M-1\",2\r\n"))
		f.Add(shape, "TEXT/XML;charset=\"", "", `{"a":1,"a":2}`, []byte("\xef\xbb\xbf<a/>"))
		f.Add(shape, "multipart/form-data; boundary=b", "name", "",
			[]byte("--b\r\nContent-Disposition: form-data; name=file; filename=a\r\n\r\nx\r\n--b--\r\n"))
	}
	f.Fuzz(func(t *testing.T, shape uint8, mediaType, name, text string, content []byte) {
		c := s.drawn(t, shape, mediaType, name, text, content)
		key := uuid.NewString()
		keyed := c.With("Idempotency-Key", key)
		before := s.RowCounts(t)
		first, err := s.Send(t.Context(), keyed)
		if err != nil {
			t.Skip(err) // Go sends no such header.
		}
		again := beside.Do(t, keyed)
		if first.Status != http.StatusCreated {
			wantSameRefusal(t, first, again)
			s.wantStarts(t, before, 0)
			after := call{Method: http.MethodPost, Path: startOfTables, Token: s.Harbour.Tokens.Executor}
			beside.Must(t, http.StatusCreated, after.With("Idempotency-Key", key).WithBody("text/csv", "a\n1\n"))
			return
		}
		fixture.WantReplay(t, first, again)
		for _, other := range []string{otherVersion(c.Path), startOfRooms} {
			beside.Refused(t, api.CodeKeyReused, keyed.To(other))
		}
		s.wantStarts(t, before, 1)
		without := fixture.Decoded[api.Run](t, beside.Must(t, http.StatusCreated, c))
		with := fixture.Decoded[api.Run](t, first)
		if diff := cmp.Diff(s.submission(t, with.Submission), s.submission(t, without.Submission)); diff != "" {
			t.Errorf("submission (-with +without a key):\n%s", diff)
		}
	})
}

const startOfTables, startOfRooms = "/api/workflows/meter-readings/start/", "/api/workflows/building/start/"

// drawn is a start of a shape: three bits for how the document is sent, the others for where to and with what.
func (s *stage) drawn(tb testing.TB, shape uint8, mediaType, name, text string, content []byte) call {
	tb.Helper()
	path := "/api/workflows/any/start/"
	if shape&8 != 0 {
		path = startOfTables
	}
	if shape&16 != 0 {
		path = otherVersion(path)
	}
	c := call{Method: http.MethodPost, Path: path, Token: s.Harbour.Tokens.Executor}
	switch shape & 7 {
	case 0:
		return c.WithBody(mediaType, string(content))
	case 1:
		return c.With("X-Filename", name).WithBody(mediaType, string(content))
	case 2, 3:
		return c.WithBody("application/json", envelope(tb, shape&32 != 0, mediaType, name, text, content))
	default:
		file := `name=file; filename="` + name + `"`
		return c.WithBody(form("B", "name=metadata", "", text, file, mediaType, string(content)))
	}
}

// otherVersion is the address of a workflow's version in place of that of the workflow, or the other way round.
func otherVersion(path string) string {
	const pinned = "?version=1"
	if bare, found := strings.CutSuffix(path, pinned); found {
		return bare
	}
	return path + pinned
}

// envelope has a document in JSON: as it is if it is JSON, and otherwise as text or as bytes.
func envelope(tb testing.TB, asBytes bool, mediaType, name, text string, content []byte) string {
	tb.Helper()
	members := map[string]any{"content": string(content), "content_type": mediaType, "filename": name, "name": text}
	switch {
	case asBytes:
		members["content"], members["content_encoding"] = base64.StdEncoding.EncodeToString(content), "base64"
	case json.Valid(content):
		members["content"] = json.RawMessage(content)
	}
	if json.Valid([]byte(text)) {
		members["metadata"] = json.RawMessage(text)
	}
	body, err := json.Marshal(members)
	if err != nil {
		tb.Fatal(err)
	}
	return string(body)
}

// wantSameRefusal wants two processes to refuse a request alike, because of what was sent.
func wantSameRefusal(tb testing.TB, first, again answer) {
	tb.Helper()
	one, other := fixture.Decoded[api.Problem](tb, first), fixture.Decoded[api.Problem](tb, again)
	one.RequestID = other.RequestID
	if diff := cmp.Diff(one, other); diff != "" || first.Status/100 != 4 {
		tb.Errorf("refusal = %d, want one that blames the request, twice (-first +again):\n%s", first.Status, diff)
	}
}

// wantStarts wants so many more starts than before.
func (s *stage) wantStarts(tb testing.TB, before fixture.RowCounts, more int64) {
	tb.Helper()
	want := before
	for _, count := range []*int64{&want.Keys, &want.Submissions, &want.Runs, &want.Jobs, &want.Audits, &want.Used} {
		*count += more
	}
	s.wantRows(tb, want)
}
