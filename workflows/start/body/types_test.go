package body_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
)

const bytesType = "application/octet-stream"

// rawFile is a document as a body, with a name.
func rawFile(contentType, filename, content string) *http.Request {
	r := rawRequest(contentType, content)
	r.Header.Set("X-Filename", filename)
	return r
}

func TestReadStartBodyFindsTypes(t *testing.T) {
	t.Parallel()
	file := func(contentType, filename string, more ...part) *http.Request {
		return multipartRequest(t, "b", append(more, part{
			name: "file", filename: filename, contentType: contentType, content: "a,b",
		})...)
	}
	const form = "application/x-www-form-urlencoded"
	for name, tt := range map[string]struct {
		r    *http.Request
		want string
	}{
		"PartWithoutType": {file("", "m.csv"), "text/csv, text/plain, application/octet-stream"},
		"PartOfBytes":     {file(bytesType, "m.json"), "application/json, application/octet-stream"},
		"PartOfExcel": {
			file("application/vnd.ms-excel", "m.csv"), "text/csv, text/plain, application/vnd.ms-excel",
		},
		"PartWithAType":     {file("text/plain", "m.csv"), "text/plain"},
		"PartWithoutEnding": {file(bytesType, "csv"), "application/octet-stream"},
		"NameAsAPart": {
			file("", "m.csv", part{name: "filename", content: "m.xml"}), "application/xml, application/octet-stream",
		},
		"TypeAsAPart": {file("", "m.csv", part{name: "content_type", content: "text/xml"}), "text/xml"},
		"BytesAsAPart": {
			file("text/csv", "m.xml", part{name: "content_type", content: bytesType}),
			"application/xml, application/octet-stream",
		},
		"RawWithoutType": {rawFile("", "m.yaml", "a"), "application/yaml, application/octet-stream"},
		"RawOfBytes": {
			rawFile("Application/Octet-Stream", "m.TSV", "a"),
			"text/tab-separated-values, text/plain, application/octet-stream",
		},
		"RawAsAForm": {
			rawFile(form+"; charset=UTF-8", "m.csv", "a"), "text/csv, text/plain, application/octet-stream",
		},
		"RawAsAFormNameless": {rawRequest(form, "a"), "application/x-www-form-urlencoded"},
		"RawWithAType":       {rawFile("text/plain;charset=UTF-8", "m.csv", "a"), "text/plain"},
		"RawEncodedName":     {rawFile("", "UTF-8''m%2Exml", "a"), "application/xml, application/octet-stream"},
		"RawJSONWithContent": {rawFile("", "m.json", `{"content":1}`), "application/json, application/octet-stream"},
		"EnvelopeOfText":     {envelopeRequest(`{"content":"a","filename":"m.yml"}`), "application/yaml, text/plain"},
		"EnvelopeOfBytes": {
			envelopeRequest(`{"content":"YQ==","content_encoding":"base64","filename":"m.xml"}`),
			"application/xml, application/octet-stream",
		},
		"EnvelopeOfAnObject": {envelopeRequest(`{"content":{},"filename":"m.csv"}`), "application/json"},
		"EnvelopeOfGeography": {
			envelopeRequest(`{"content":{},"filename":"m.geojson"}`), "application/geo+json, application/json",
		},
		"EnvelopeWithAType": {
			envelopeRequest(`{"content":"a","filename":"m.csv","content_type":"text/plain"}`), "text/plain",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := readBody(t, tt.r)
			if got := strings.Join(append([]string{body.MediaType}, body.OtherTypes...), ", "); got != tt.want {
				t.Errorf("types = %s, want %s", got, tt.want)
			}
		})
	}
}

func TestReadStartBodyOfFoundTypes(t *testing.T) {
	t.Parallel()
	t.Run("RefusesAnObjectAsBytes", func(t *testing.T) {
		t.Parallel()
		got := refusal(t, envelopeRequest(`{"content":{},"filename":"m.csv","content_type":"`+bytesType+`"}`))
		if got.Code != api.CodeInvalidPayload {
			t.Errorf("error = %v, want %s", got, api.CodeInvalidPayload)
		}
	})
	t.Run("KeepsALargeDocumentThatIsJSONByItsName", func(t *testing.T) {
		t.Parallel()
		large := `["` + strings.Repeat("a", 2<<20) + `"]`
		if body := readBody(t, rawFile("", "m.json", large)); body.Content.Size != int64(len(large)) {
			t.Errorf("content has %d bytes, want %d", body.Content.Size, len(large))
		}
	})
}

func TestFingerprintOfFoundTypes(t *testing.T) {
	t.Parallel()
	testPairs(t, []pair{
		{
			"structure of JSON by its name", rawFile("", "m.json", `{"a":1,"b":2}`),
			rawFile("text/json", "m.json", `{"b":2, "a":1}`), nil,
		},
		{
			"large JSON by its name", rawFile("", "m.json", strings.Repeat(" ", 2<<20)+"{}"),
			rawFile("application/json", "m.json", strings.Repeat(" ", 2<<20)+"{}"), nil,
		},
		{"broken JSON by its name", rawFile("", "m.json", `{"a`), rawFile("application/json", "m.json", `{"a`), nil},
		{"names of XML", rawRequest("text/xml", "<a/>"), rawRequest("application/xml", "<a/>"), nil},
		{"parameters of names", rawRequest("text/xml; a=1", "<a/>"), rawRequest("application/xml", "<a/>"), content()},
		{"another type than the name's", rawFile("", "m.csv", "a"), rawFile("text/plain", "m.csv", "a"), content()},
		{"another ending", rawFile("", "m.csv", "a"), rawFile("", "m.tsv", "a"), []string{"content", "options"}},
		{"unknown endings", rawFile("", "m.a", "a"), rawFile("", "m.b", "a"), options()},
	})
}

// ways are the ways in which clients say of what type a document is, for each ending of a name.
func ways() map[string][]string {
	return map[string][]string{
		"csv":    {"text/csv", "TEXT/CSV; charset=utf-8", "application/csv", "application/vnd.ms-excel"},
		"tsv":    {"text/tab-separated-values"},
		"json":   {"application/json", "application/json; charset=UTF-8", "text/json"},
		"epJSON": {"application/json"},
		"yaml":   {"application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml"},
		"yml":    {"application/yaml", "text/yaml"},
		"xml":    {"application/xml", "text/xml", `text/xml; charset="utf-8"`},
		"idf":    {"text/plain", "text/plain;charset=UTF-8"},
		"txt":    {"text/plain"},
		"zip":    {"application/zip", "application/x-zip-compressed"},
	}
}

// TestFingerprintOfAnyWayToSendADocument sends generated documents in every pair of ways: whichever client repeats the
// start of another one, it is the same request.
func TestFingerprintOfAnyWayToSendADocument(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(5, 6))
	seen := map[idempotency.Digest]string{}
	for ending, types := range ways() {
		types = append(types, "", bytesType, "Application/Octet-Stream; charset=utf-8")
		for range 5 {
			name := fmt.Sprintf("%d.%s", random.IntN(1000), ending)
			document := fmt.Sprintf(`{"a": %d, "b": [%d]}`, random.Uint64(), random.Uint64())
			forms := map[string][]*http.Request{}
			for _, declared := range types {
				forms["multipart"] = append(forms["multipart"], asParts(t, random, declared, name, document)...)
				forms["raw"] = append(forms["raw"], rawFile(declared, name, document))
				forms["envelope"] = append(forms["envelope"], envelopeRequest(fmt.Sprintf(
					`{"content": %q, "filename": %q, "content_type": %q}`, document, name, declared)))
			}
			forms["raw"] = append(forms["raw"], rawFile("application/x-www-form-urlencoded", "folder/"+name, document))
			forms["envelope"] = append(forms["envelope"],
				envelopeRequest(fmt.Sprintf(`{"filename": %q, "content": %q}`, name, document)))
			for form, requests := range forms {
				wantOneFingerprint(t, seen, form+" "+name+" "+document, requests)
			}
		}
	}
}

// asParts is the document as a form, with its type and its name in each place where they can be.
func asParts(tb testing.TB, random *rand.Rand, declared, name, document string) []*http.Request {
	tb.Helper()
	boundary := fmt.Sprintf("b%d", random.Uint32())
	wrong := part{name: "file", filename: "wrong.pdf", contentType: "application/pdf", content: document}
	plain := part{name: "file", filename: name, contentType: declared, content: document}
	unnamed := part{name: "file", contentType: declared, content: document}
	requests := []*http.Request{
		multipartRequest(tb, boundary, plain),
		multipartRequest(tb, boundary, unnamed, part{name: "filename", content: "folder/" + name}),
	}
	if declared != "" {
		requests = append(requests, multipartRequest(tb, boundary, part{name: "content_type", content: declared},
			wrong, part{name: "filename", content: name}))
	}
	return requests
}

// wantOneFingerprint wants one for all the requests, and one that no other meaning has.
func wantOneFingerprint(
	tb testing.TB, seen map[idempotency.Digest]string, meaning string, requests []*http.Request,
) {
	tb.Helper()
	var first idempotency.Fingerprint
	for i, r := range requests {
		got := fingerprintOf(tb, r)
		if i == 0 {
			first = got
		}
		if got.Sum != first.Sum {
			tb.Errorf("%s: way %d of %d differs in %v from the first",
				meaning, i, len(requests), first.Differs(got, "workflow"))
		}
	}
	if other, found := seen[first.Sum]; found && other != meaning {
		tb.Errorf("%s and %s have one fingerprint", meaning, other)
	}
	seen[first.Sum] = meaning
}
