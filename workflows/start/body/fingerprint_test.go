package body_test

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/workflows/start/body"
)

// pair is two requests and the parts of the fingerprint in which they differ.
type pair struct {
	name       string
	one, other *http.Request
	want       []string
}

func testPairs(t *testing.T, pairs []pair) {
	t.Helper()
	for _, tt := range pairs {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			one, other := fingerprintOf(t, tt.one), fingerprintOf(t, tt.other)
			if diff := cmp.Diff(tt.want, one.Differs(other, "workflow")); diff != "" {
				t.Errorf("Differs (-want +got):\n%s", diff)
			}
			if got, want := one.Sum == other.Sum, len(tt.want) == 0; got != want {
				t.Errorf("sums equal = %t, want %t", got, want)
			}
		})
	}
}

func content() []string { return []string{"content"} }

func options() []string { return []string{"options"} }

func TestFingerprintOfMediaTypes(t *testing.T) {
	t.Parallel()
	csv := func(contentType string) *http.Request { return rawRequest(contentType, "a,b") }
	typed := func(contentType string) *http.Request {
		return multipartRequest(t, "b", part{name: "file", contentType: contentType, content: "a,b"})
	}
	testPairs(t, []pair{
		{"capital letters", csv("text/csv"), csv("Text/CSV"), nil},
		{"charset of UTF-8", csv("text/csv"), csv("text/csv; charset=UTF-8"), nil},
		{"order of parameters", csv("text/csv; a=1; b=2"), csv("text/csv;b=2;a=1"), nil},
		{"another charset", csv("text/csv"), csv("text/csv; charset=latin1"), content()},
		{"another parameter", csv("text/csv; header=present"), csv("text/csv; header=absent"), content()},
		{"another type", csv("text/csv"), csv("text/plain"), content()},
		{"no type and bytes", csv(""), csv("application/octet-stream"), nil},
		{"capital letters in a part", typed("text/csv"), typed("TEXT/csv;charset=utf-8"), nil},
		{"another type of a part", typed("text/csv"), typed("text/plain"), content()},
		{
			"type as a text part", typed("text/csv"),
			multipartRequest(t, "b",
				part{name: "content_type", content: "Text/csv"}, part{name: "file", content: "a,b"}), nil,
		},
		{
			"type of an envelope", envelopeRequest(`{"content":"a","content_type":"text/plain"}`),
			envelopeRequest(`{"content":"a","content_type":"text/csv"}`), content(),
		},
		{
			"implied type of an envelope", envelopeRequest(`{"content":"a","content_type":"text/plain"}`),
			envelopeRequest(`{"content":"a"}`), nil,
		},
	})
}

// What is the same JSON is proven by idempotency.TestDigestJSONSameMeaning and the tests beside it.
func TestFingerprintOfRawDocuments(t *testing.T) {
	t.Parallel()
	json := func(text string) *http.Request { return rawRequest("application/json", text) }
	geo := func(text string) *http.Request { return rawRequest("application/geo+json", text) }
	text := func(text string) *http.Request { return rawRequest("text/plain", text) }
	large := strings.Repeat(" ", 1<<20)
	traced := json(`{"a":1}`)
	traced.Header.Set("Prefer", "wait=5")
	traced.Header.Set("Traceparent", "00-1-2-01")
	traced.Header.Set("User-Agent", "another")
	testPairs(t, []pair{
		{"headers that change nothing", json(`{"a":1}`), traced, nil},
		{"member order of JSON", json(`{"a":1,"b":2}`), json(`{"b":2,"a":1}`), nil},
		{"white space of a JSON type", geo(`{"a":1}`), geo(`{ "a":1}`), nil},
		{"number literals", json(`{"a":1}`), json(`{"a":1.0}`), content()},
		{"largest by structure", json(large[:1<<20-2] + "{}"), json(`{}`), nil},
		{"larger by bytes", json(large[:1<<20-1] + "{}"), json(large[:1<<20-2] + "{} "), content()},
		{"larger and equal", json(large + "{}"), json(large + "{}"), nil},
		{"broken JSON by bytes", json(`{"a":1,}`), json(`{"a":1, }`), content()},
		{"broken JSON and equal", json(`{"a":1,}`), json(`{"a":1,}`), nil},
		{"duplicate names in another order", json(`{"a":1,"a":2}`), json(`{"a":2,"a":1}`), content()},
		{"far too deep and equal", json(strings.Repeat("[", 1<<18)), json(strings.Repeat("[", 1<<18)), nil},
		{"text by bytes", text(`{"a":1}`), text(`{ "a":1}`), content()},
		{"text and equal", text("a\r\n"), text("a\r\n"), nil},
		{"line ends of text", text("a\r\n"), text("a\n"), content()},
	})
}

func TestFingerprintOfMultipart(t *testing.T) {
	t.Parallel()
	file := part{name: "file", filename: "a.json", contentType: "application/json", content: `{"a":1}`}
	spaced := file
	spaced.content = `{ "a":1}`
	noisy := file
	noisy.header = map[string]string{"Content-Length": "7", "X-Trace": "1", "Content-Transfer-Encoding": "binary"}
	renamed := file
	renamed.filename = "b.json"
	name := part{name: "name", content: "March"}
	typedName := part{name: "name", filename: "n.txt", contentType: "text/plain", content: "March"}
	meta := func(text string) part { return part{name: "metadata", content: text} }
	form := func(parts ...part) *http.Request { return multipartRequest(t, "b", parts...) }
	testPairs(t, []pair{
		{"boundary", form(file), multipartRequest(t, "another", file), nil},
		{"order of parts", form(file, name), form(name, file), nil},
		{"header noise", form(file, name), form(noisy, typedName), nil},
		{"empty text part", form(file), form(file, part{name: "name"}), nil},
		{"empty metadata", form(file), form(file, meta("")), nil},
		{"white space of metadata", form(file, meta(`{"a":1,"b":2}`)), form(file, meta(`{ "b":2,"a":1}`)), nil},
		{"escapes of metadata", form(file, meta(`{"a":"b"}`)), form(file, meta(`{"\u0061":"b"}`)), nil},
		{"file name as a part", form(file), form(renamed, part{name: "filename", content: "a.json"}), nil},
		{"folder of the file name", form(file, part{name: "filename", content: "x/a.json"}), form(file), nil},
		{"JSON file by bytes", form(file), form(spaced), content()},
		{"file name", form(file), form(renamed), options()},
		{"name", form(file), form(file, name), options()},
		{"name's case", form(file, name), form(file, part{name: "name", content: "march"}), options()},
		{"name's white space", form(file, name), form(file, part{name: "name", content: "March "}), options()},
		{"description", form(file), form(file, part{name: "short_description", content: "March"}), options()},
		{
			"name or description", form(file, name),
			form(file, part{name: "short_description", content: "March"}), options(),
		},
		{"metadata", form(file, meta(`{"a":1}`)), form(file, meta(`{"a":2}`)), options()},
		{"number literals of metadata", form(file, meta(`{"a":1}`)), form(file, meta(`{"a":1.0}`)), options()},
		{"empty object as metadata", form(file), form(file, meta(`{}`)), options()},
		{"content and name", form(file), form(spaced, name), []string{"content", "options"}},
		{
			"text moved between parts",
			form(file, part{name: "name", content: "ab"}, part{name: "short_description", content: "c"}),
			form(file, part{name: "name", content: "a"}, part{name: "short_description", content: "bc"}), options(),
		},
	})
}

func TestFingerprintOfEnvelopes(t *testing.T) {
	t.Parallel()
	env := envelopeRequest
	lines := base64.StdEncoding.EncodeToString([]byte("hello"))
	testPairs(t, []pair{
		{"member order", env(`{"content":"a","name":"b"}`), env(`{"name":"b","content":"a"}`), nil},
		{"white space", env(`{"content":{"a":[1]}}`), env("{ \"content\" : { \"a\" : [ 1 ]\n} }"), nil},
		{"order inside", env(`{"content":{"a":1,"b":2}}`), env(`{"content":{"b":2,"a":1}}`), nil},
		{"escapes", env(`{"content":"ä"}`), env(`{"\u0063ontent":"\u00e4"}`), nil},
		{"null option", env(`{"content":"a"}`), env(`{"content":"a","name":null}`), nil},
		{"empty option", env(`{"content":"a"}`), env(`{"content":"a","name":""}`), nil},
		{
			"line breaks of base64", env(`{"content":"` + lines + `","content_encoding":"base64"}`),
			env(`{"content":"` + lines[:4] + `\r\n` + lines[4:] + `","content_encoding":"base64"}`), nil,
		},
		{
			"metadata's order", env(`{"content":"a","metadata":{"a":1,"b":2}}`),
			env(`{"content":"a","metadata":{"b":2,"a":1}}`), nil,
		},
		{"number literals", env(`{"content":[1]}`), env(`{"content":[1.0]}`), content()},
		{"null inside", env(`{"content":{}}`), env(`{"content":{"a":null}}`), content()},
		{
			"text and object", env(`{"content":"{}","content_type":"application/json"}`),
			env(`{"content":{}}`), content(),
		},
		{"text", env(`{"content":"a"}`), env(`{"content":"b"}`), content()},
		{"metadata", env(`{"content":"a"}`), env(`{"content":"a","metadata":{}}`), options()},
		{
			"metadata's numbers", env(`{"content":"a","metadata":{"a":1}}`),
			env(`{"content":"a","metadata":{"a":1e0}}`), options(),
		},
		{"file name", env(`{"content":"a","filename":"a"}`), env(`{"content":"a","filename":"b"}`), options()},
	})
}

func TestFingerprintOfForms(t *testing.T) {
	t.Parallel()
	want := body.Body{Content: kept("a,b"), MediaType: "text/csv", Filename: "m.csv"}
	bodies := map[string]body.Body{
		"raw": readBody(t, namedRequest("m.csv")),
		"multipart": readBody(t, multipartRequest(t, "b",
			part{name: "file", filename: "m.csv", contentType: "text/csv", content: "a,b"})),
		"envelope": readBody(t, envelopeRequest(`{"content":"a,b","content_type":"text/csv","filename":"m.csv"}`)),
	}
	seen := map[string]string{}
	for name, document := range bodies {
		if diff := cmp.Diff(want, stored(document)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if other, found := seen[document.FingerprintMediaType]; found {
			t.Errorf("%s and %s have one fingerprint, want one each", name, other)
		}
		seen[document.FingerprintMediaType] = name
	}
}
