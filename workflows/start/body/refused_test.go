package body_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/api"
)

// refused is a request whose body is at fault at a place.
type refused struct {
	name string
	r    *http.Request
	// at is the pointer, or the header behind a colon; "" where the fault has no place.
	at string
}

func testRefused(t *testing.T, cases []refused) {
	t.Helper()
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := refusal(t, tt.r)
			if got.Code != api.CodeInvalidPayload {
				t.Errorf("error = %v, want %s", got, api.CodeInvalidPayload)
			}
			if at := placeOf(got.Fields); at != tt.at {
				t.Errorf("error = %v at %q, want at %q", got, at, tt.at)
			}
		})
	}
}

func placeOf(fields []api.FieldError) string {
	places := make([]string, len(fields))
	for i, field := range fields {
		places[i] = field.Pointer
		if field.Parameter != "" {
			places[i] = ":" + field.Parameter
		}
	}
	return strings.Join(places, " and ")
}

func TestReadStartBodyRefusesRaw(t *testing.T) {
	t.Parallel()
	twoNames := namedRequest("a")
	twoNames.Header.Add("X-Filename", "b")
	testRefused(t, []refused{
		{"no document", rawRequest("text/csv", ""), ""},
		{"no document and no type", rawRequest("", ""), ""},
		{"two file names", twoNames, ":X-Filename"},
		{"Latin-1", namedRequest("ISO-8859-1''gr%FC.csv"), ":X-Filename"},
		{"line break", namedRequest("a\r\nb"), ":X-Filename"},
		{"NUL", namedRequest("a\x00"), ":X-Filename"},
		{"escape", namedRequest("a\x1b[2J"), ":X-Filename"},
		{"bad UTF-8", namedRequest("a\xff"), ":X-Filename"},
		{"too long", namedRequest(strings.Repeat("a", 256)), ":X-Filename"},
		{"folder", namedRequest("a/"), ":X-Filename"},
		{"parent folder", namedRequest("a/.."), ":X-Filename"},
		{"broken percent-encoding", namedRequest("UTF-8''a%2"), ":X-Filename"},
		{"percent-encoded line break", namedRequest("utf-8''a%0D%0Ab"), ":X-Filename"},
		{"percent-encoded bad UTF-8", namedRequest("UTF-8''%FF"), ":X-Filename"},
		{"right-to-left override", namedRequest("invoice\u202egpj.exe"), ":X-Filename"},
		{"percent-encoded override", namedRequest("UTF-8''invoice%E2%80%AEgpj.exe"), ":X-Filename"},
		{"isolate", namedRequest("a\u2067b.csv"), ":X-Filename"},
		{"zero-width space", namedRequest("a\u200b.csv"), ":X-Filename"},
		{"byte order mark", namedRequest("\ufeffa.csv"), ":X-Filename"},
		{"override in the file part", multipartRequest(t, "b", part{
			name: "file", filename: "a\u202evsc.exe", content: "x",
		}), "/file"},
		{
			"override in JSON", rawRequest("application/json", `{"content":"a","filename":"a\u202evsc.exe"}`),
			"/filename",
		},
	})
}

func TestReadStartBodyRefusesEnvelopes(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 101) + strings.Repeat("]", 101)
	long := func(n int) string { return `"` + strings.Repeat("n", n) + `"` }
	with := func(name, value string) *http.Request {
		return envelopeRequest(`{"content":"a",` + name + `:` + value + `}`)
	}
	testRefused(t, []refused{
		{"empty text", envelopeRequest(`{"content":""}`), ""},
		{"empty bytes", envelopeRequest(`{"content":"","content_encoding":"base64"}`), ""},
		{"null", envelopeRequest(`{"content":null}`), "/content"},
		{"number", envelopeRequest(`{"content":1}`), "/content"},
		{"boolean", envelopeRequest(`{"content":true}`), "/content"},
		{"unknown member", envelopeRequest(`{"content":"a","org_id":"x"}`), "/org_id"},
		{"unknown member first", envelopeRequest(`{"a/b":{},"content":"a"}`), "/a~1b"},
		{"member in other letters", envelopeRequest(`{"content":"a","FileName":"x"}`), "/FileName"},
		{"long unknown member", with(long(9999), `1`), "/" + strings.Repeat("n", 64)},
		{"duplicate content", envelopeRequest(`{"content":"a","content":"b"}`), "/content"},
		{"duplicate name before content", envelopeRequest(`{"name":"a","n\u0061me":"a","content":"b"}`), "/name"},
		{"duplicate name in content", envelopeRequest(`{"content":{"x":[{"a":1,"a":1}]}}`), "/content/x/0/a"},
		{"duplicate name in metadata", envelopeRequest(`{"content":"a","metadata":{"a":1,"a":1}}`), "/metadata/a"},
		{"cut off", envelopeRequest(`{"content":"a"`), ""},
		{"cut off in content", envelopeRequest(`{"filename":"a","content":{"x":`), "/content/x"},
		{"no value", envelopeRequest(`{"content"}`), "/content"},
		{"trailing text", envelopeRequest(`{"content":"a"} {}`), ""},
		{"trailing comma", envelopeRequest(`{"content":"a",}`), ""},
		{"bad UTF-8 in content", envelopeRequest("{\"content\":\"\xff\"}"), "/content"},
		{"bad UTF-8 before content", envelopeRequest("{\"name\":\"\xff\",\"content\":\"a\"}"), "/name"},
		{"lone surrogate in content", envelopeRequest(`{"content":"\ud800"}`), "/content"},
		{"lone surrogate in metadata", envelopeRequest(`{"content":"a","metadata":{"a":"\udc00"}}`), "/metadata/a"},
		{"content too deep", envelopeRequest(`{"content":` + deep + `}`), "/content"},
		{"metadata too deep", envelopeRequest(`{"content":"a","metadata":{"a":` + deep + `}}`), "/metadata"},
		{
			"content far too deep", envelopeRequest(`{"content":` + strings.Repeat("[", 1<<20)),
			"/content" + strings.Repeat("/0", 124),
		},
		{"bad base64", envelopeRequest(`{"content":"a!","content_encoding":"base64"}`), "/content"},
		{"unpadded base64", envelopeRequest(`{"content":"AP8","content_encoding":"base64"}`), "/content"},
		{"unknown encoding", envelopeRequest(`{"content":"a","content_encoding":"gzip"}`), "/content_encoding"},
		{"encoded object", envelopeRequest(`{"content":{},"content_encoding":"base64"}`), "/content"},
		{"object as CSV", envelopeRequest(`{"content":{},"content_type":"text/csv"}`), "/content_type"},
		{"name that is a number", envelopeRequest(`{"content":"a","name":1}`), "/name"},
		{"metadata that is text", envelopeRequest(`{"content":"a","metadata":"{}"}`), "/metadata"},
		{"metadata that is an array", envelopeRequest(`{"content":"a","metadata":[]}`), "/metadata"},
		{"NUL in the name", envelopeRequest(`{"content":"a","name":"\u0000"}`), "/name"},
		{"NUL in the file name", envelopeRequest(`{"content":"a","filename":"a\u0000"}`), "/filename"},
		{"line break in the file name", envelopeRequest(`{"content":"a","filename":"a\r\nb"}`), "/filename"},
		{"NUL in the description", with(`"short_description"`, `"\u0000"`), "/short_description"},
		{"NUL in metadata", envelopeRequest(`{"content":"a","metadata":{"a":["\\\u0000"]}}`), "/metadata"},
		{"long name", with(`"name"`, long(256)), "/name"},
		{"huge name", with(`"name"`, long(1<<20)), "/name"},
		{"long description", with(`"short_description"`, long(2001)), "/short_description"},
		{"huge metadata", with(`"metadata"`, `{"a":`+long(64<<10)+`}`), "/metadata"},
	})
	t.Run("AllowsAnEscapedBackslashBeforeZeros", func(t *testing.T) {
		t.Parallel()
		const metadata = `{"a":"\\u0000"}`
		if got := readBody(t, envelopeRequest(`{"content":"a","metadata":`+metadata+`}`)).Metadata; got != metadata {
			t.Errorf("metadata = %s, want %s", got, metadata)
		}
	})
	t.Run("SaysHowToSendADocumentThatLooksLikeOne", func(t *testing.T) {
		t.Parallel()
		got := refusal(t, envelopeRequest(`{"content":"a","title":"x"}`))
		if !strings.Contains(got.Detail, "multipart/form-data") {
			t.Errorf("detail = %q, want a hint at multipart/form-data", got.Detail)
		}
	})
}

func TestReadStartBodyRefusesMultipart(t *testing.T) {
	t.Parallel()
	file := part{name: "file", content: "x"}
	with := func(parts ...part) *http.Request { return multipartRequest(t, "b", append(parts, file)...) }
	encoded := func(encoding string) *http.Request {
		return multipartRequest(t, "b", part{
			name: "file", content: "eA==", header: map[string]string{"Content-Transfer-Encoding": encoding},
		})
	}
	raw := func(body string) *http.Request { return rawRequest("multipart/form-data; boundary=b", body) }
	head := "--b\r\nContent-Disposition: form-data; name=\"file\"\r\n"
	named := func(filename string) *http.Request {
		return multipartRequest(t, "b", part{name: "file", filename: filename, content: "x"})
	}
	long := strings.Repeat("n", 200_000)
	many := make([]part, 10_000)
	for i := range many {
		many[i] = part{name: "name", content: "x"}
	}
	testRefused(t, []refused{
		{"no boundary", rawRequest("multipart/form-data", "--b--"), ":Content-Type"},
		{"empty boundary", rawRequest(`multipart/form-data; boundary=""`, "----"), ":Content-Type"},
		{"no body", raw(""), ""},
		{"no parts", raw("--b--\r\n"), "/file"},
		{"no file", multipartRequest(t, "b", part{name: "name", content: "x"}), "/file"},
		{"empty file", multipartRequest(t, "b", part{name: "file", filename: "a"}), ""},
		{"two files", with(file), "/file"},
		{"two names", with(part{name: "name", content: "x"}, part{name: "name", content: "x"}), "/name"},
		{"two empty names", with(part{name: "name"}, part{name: "name"}), "/name"},
		{"unknown part", with(part{name: "org_id", content: "x"}), "/org_id"},
		{"part in other letters", with(part{name: "File", content: "x"}), "/File"},
		{"10,000 parts", with(many...), "/name"},
		{"part without a name", raw(strings.Replace(head, "; name=\"file\"", "", 1) + "\r\nx\r\n--b--\r\n"), ""},
		{"part without a disposition", raw("--b\r\n\r\nx\r\n--b--\r\n"), ""},
		{"attachment", raw(strings.Replace(head, "form-data", "attachment", 1) + "\r\nx\r\n--b--\r\n"), ""},
		{"huge header line", raw(head + "X: " + long + "\r\n\r\nx\r\n--b--\r\n"), ""},
		{"huge header", raw(head + strings.Repeat("X: y\r\n", 40_000) + "\r\nx\r\n--b--\r\n"), ""},
		{"huge preamble", raw(strings.Repeat("x\r\n", 40_000) + head + "\r\nx\r\n--b--\r\n"), ""},
		{"header without a colon", raw("--b\r\nfile\r\n\r\nx\r\n--b--\r\n"), ""},
		{"no closing boundary", raw(head + "\r\nx\r\n"), ""},
		{"cut off in a header", raw(head), ""},
		{"cut off in the header of a later part", raw(head + "\r\nx\r\n--b\r\nContent-Disp"), ""},
		{"cut off behind a header of a later part", raw(head + "\r\nx\r\n--b\r\n" +
			"Content-Disposition: form-data; name=\"name\"\r\n"), ""},
		{"cut off in a boundary", raw(head + "\r\nx\r\n--b"), ""},
		{"cut off before the second dash", raw(head + "\r\nx\r\n--b-"), ""},
		{"another boundary", raw(strings.ReplaceAll(head, "--b", "--c") + "\r\nx\r\n--c--\r\n"), ""},
		{"base64", encoded("base64"), "/file"},
		{"quoted-printable", encoded("Quoted-Printable"), "/file"},
		{"metadata that is an array", with(part{name: "metadata", content: "[]"}), "/metadata"},
		{"metadata that is no JSON", with(part{name: "metadata", content: "a=1"}), "/metadata"},
		{"duplicate name in metadata", with(part{name: "metadata", content: `{"a":{"b":1,"b":1}}`}), "/metadata/a/b"},
		{"NUL in metadata", with(part{name: "metadata", content: `{"\u0000":1}`}), "/metadata"},
		{"bad UTF-8 in metadata", with(part{name: "metadata", content: "{\"a\":\"\xff\"}"}), "/metadata/a"},
		{"bad UTF-8 in the name", with(part{name: "name", content: "\xff"}), "/name"},
		{"NUL in the name", with(part{name: "name", content: "a\x00"}), "/name"},
		{"huge text", with(part{name: "short_description", content: long}), "/short_description"},
		{"bad UTF-8 in the part's file name", named("\xff"), "/file"},
		{"long file name", named(long[:256]), "/file"},
		{"encoded line break in the file name", raw("--b\r\nContent-Disposition: form-data; name=\"file\"; " +
			"filename*=utf-8''a%0D%0Ab\r\n\r\nx\r\n--b--\r\n"), "/file"},
		{"file name in Latin-1", raw("--b\r\nContent-Disposition: form-data; name=\"file\"; " +
			"filename*=ISO-8859-1''gr%FC.csv\r\n\r\nx\r\n--b--\r\n"), "/file"},
		{"folder as file name", with(part{name: "filename", content: "a/"}), "/filename"},
	})
}

func TestRefusalsNameTheirSubject(t *testing.T) {
	t.Parallel()
	inEnvelope := func(member string) *http.Request {
		return rawRequest("application/json", `{"content":"a",`+member+`}`)
	}
	inForm := func(name string) *http.Request {
		return multipartRequest(t, "b", part{name: "file", content: "x"}, part{name: name, content: "x"})
	}
	for _, tt := range []struct {
		r      *http.Request
		detail string
	}{
		{namedRequest("a\xff"), "The file name is not valid UTF-8."},
		{namedRequest(strings.Repeat("a", 256)), "The file name is longer than 255 characters."},
		{namedRequest("a/"), "The file name is that of a folder."},
		{namedRequest("a\x1b[2J"), "The file name has control characters, which are not allowed."},
		{inEnvelope(`"name":1`), "name must be a string."},
		{inEnvelope(`"nick":"b"`), "nick is not a known member. A JSON object"},
		{inForm("file"), "file is duplicated."},
		{inForm("nick"), "nick is not a known part; they are file,"},
	} {
		if got := refusal(t, tt.r); !strings.HasPrefix(got.Detail, tt.detail) {
			t.Errorf("detail = %q, want %q", got.Detail, tt.detail)
		}
	}
}
