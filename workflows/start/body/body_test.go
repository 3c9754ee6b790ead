package body_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/workflows/start/body"
)

func TestReadStartBody(t *testing.T) {
	t.Parallel()
	file := part{name: "file", filename: "m.csv", contentType: "text/csv", content: "a,b\r\n"}
	withName := rawRequest("Text/CSV; Header=present; charset=UTF-8", "a,b")
	withName.Header.Set("X-Filename", "m\u00e4rz.csv")
	for _, tt := range []struct {
		name string
		r    *http.Request
		want body.Body
	}{
		{
			"raw", withName,
			body.Body{
				Content: kept("a,b"), MediaType: "text/csv; header=present", Filename: "m\u00e4rz.csv",
			},
		},
		{
			"raw without a type", rawRequest("", "\x00\xff"),
			body.Body{Content: kept("\x00\xff"), MediaType: "application/octet-stream"},
		},
		{
			"raw JSON with content further in", rawRequest("application/json", ` {"a": {"content": 1}}`),
			body.Body{Content: kept(` {"a": {"content": 1}}`), MediaType: "application/json"},
		},
		{
			"raw JSON with Content", rawRequest("application/json", `{"Content": 1}`),
			body.Body{Content: kept(`{"Content": 1}`), MediaType: "application/json"},
		},
		{
			"content under another JSON type", rawRequest("application/geo+json", `{"content": 1}`),
			body.Body{Content: kept(`{"content": 1}`), MediaType: "application/geo+json"},
		},
		{
			"raw JSON that is broken", rawRequest("application/json", `{"a": `),
			body.Body{Content: kept(`{"a": `), MediaType: "application/json"},
		},
		{
			"multipart with a file alone", multipartRequest(t, "b", file),
			body.Body{Content: kept("a,b\r\n"), MediaType: "text/csv", Filename: "m.csv"},
		},
		{
			"multipart with all parts",
			multipartRequest(
				t, "b",
				part{name: "metadata", content: "\n{\"b\": 1.50, \"a\": 2}"},
				part{name: "name", content: "March"}, file,
				part{name: "filename", content: "n.tsv"},
				part{name: "content_type", content: "text/tab-separated-values; charset=utf-8"},
				part{name: "short_description", content: "One line\nand another"},
			),
			body.Body{
				Content: kept("a,b\r\n"), MediaType: "text/tab-separated-values", Filename: "n.tsv", Name: "March",
				Metadata: "\n{\"b\": 1.50, \"a\": 2}", ShortDescription: "One line\nand another",
			},
		},
		{
			"multipart without types", multipartRequest(t, "b", part{name: "file", content: "x"}),
			body.Body{Content: kept("x"), MediaType: "application/octet-stream"},
		},
		{
			"multipart file with lines like a boundary",
			multipartRequest(t, "b", part{name: "file", content: "--b2\r\n\r\n--c--\r\n"}),
			body.Body{Content: kept("--b2\r\n\r\n--c--\r\n"), MediaType: "application/octet-stream"},
		},
		{
			"multipart file that looks quoted-printable",
			multipartRequest(t, "b", part{
				name: "file", content: "a=3Db", header: map[string]string{"Content-Transfer-Encoding": "Binary"},
			}),
			body.Body{Content: kept("a=3Db"), MediaType: "application/octet-stream"},
		},
		{
			"multipart with a preamble, an epilogue and no last line end",
			rawRequest("multipart/form-data; boundary=b",
				"preamble\r\n--b\r\nContent-Disposition: form-data; name=file\r\n\r\nx\r\n--b--\r\nepilogue"),
			body.Body{Content: kept("x"), MediaType: "application/octet-stream"},
		},
		{
			"multipart that ends with its boundary",
			rawRequest("multipart/form-data; boundary=b",
				"--b\r\nContent-Disposition: form-data; name=file\r\n\r\nx\r\n--b--"),
			body.Body{Content: kept("x"), MediaType: "application/octet-stream"},
		},
		{
			"multipart with bare line feeds",
			rawRequest("multipart/form-data; boundary=b",
				"--b\nContent-Disposition: form-data; name=file\n\nx\n--b--\n"),
			body.Body{Content: kept("x"), MediaType: "application/octet-stream"},
		},
		{
			"envelope of text",
			envelopeRequest(`{"content":"a\u002cb\n","filename":"m.csv","name":"March","short_description":"x"}`),
			body.Body{
				Content: kept("a,b\n"), MediaType: "text/csv", OtherTypes: []string{"text/plain"}, Filename: "m.csv",
				Name: "March", ShortDescription: "x",
			},
		},
		{
			"envelope of a typed text", envelopeRequest(`{"content_type":"Text/CSV","content":"a,b"}`),
			body.Body{Content: kept("a,b"), MediaType: "text/csv"},
		},
		{
			"envelope of bytes", envelopeRequest(`{"content":"AP8=\n","content_encoding":"base64"}`),
			body.Body{Content: kept("\x00\xff"), MediaType: "application/octet-stream"},
		},
		{
			"envelope of an object", envelopeRequest(`{"metadata": {"b": 1.50} , "\u0063ontent" : {"x": [1.0, 2] } }`),
			body.Body{
				Content: kept(`{"x": [1.0, 2] }`), MediaType: "application/json", Metadata: `{"b": 1.50}`,
			},
		},
		{
			"envelope of an array", envelopeRequest(` {"content":[ ],"content_type":"application/geo+json"}`),
			body.Body{Content: kept(`[ ]`), MediaType: "application/geo+json"},
		},
		{
			"envelope with nulls",
			envelopeRequest(`{"content":{},"filename":null,"metadata":null,"content_encoding":null}`),
			body.Body{Content: kept(`{}`), MediaType: "application/json"},
		},
		{
			"envelope of another envelope", envelopeRequest(`{"content":{"content":"x"}}`),
			body.Body{Content: kept(`{"content":"x"}`), MediaType: "application/json"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, stored(readBody(t, tt.r))); diff != "" {
				t.Errorf("ReadStartBody (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReadStartBodyRefusesMediaTypes(t *testing.T) {
	t.Parallel()
	twoTypes := rawRequest("text/csv", "a")
	twoTypes.Header.Add("Content-Type", "text/plain")
	for name, r := range map[string]*http.Request{
		"no slash":               rawRequest("csv", "a"),
		"no name":                rawRequest("/csv", "a"),
		"broken parameter":       rawRequest("text/csv; header", "a"),
		"contradicting charsets": rawRequest("text/csv; charset=utf-8; charset=latin1", "a"),
		"too long":               rawRequest("text/"+strings.Repeat("a", 300), "a"),
		"two headers":            twoTypes,
		"table in charset":       rawRequest("text/csv; charset=shift_jis", "a"),
		"JSON in charset":        rawRequest("application/json; charset=iso-8859-1", `{"a":1}`),
		"YAML in charset":        rawRequest("application/x-yaml; charset=utf-16", "a"),
		"text in charset":        rawRequest("text/x-other; charset=iso-8859-1", "a"),
		"file part":              multipartRequest(t, "b", part{name: "file", contentType: "csv", content: "a"}),
		"text part": multipartRequest(t, "b",
			part{name: "file", content: "a"}, part{name: "content_type", content: "csv"}),
		"envelope":        envelopeRequest(`{"content":"a","content_type":"csv"}`),
		"gzip":            compressed("gzip"),
		"listed codings":  compressed("identity, br"),
		"unknown coding":  compressed("x-unknown"),
		"two encodings":   compressed("gzip, deflate"),
		"capital letters": compressed("GZIP"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := refusal(t, r)
			if got.Code != api.CodeUnsupportedMediaType || len(got.Fields) != 1 {
				t.Errorf("error = %v, %d fields, want %s, one", got, len(got.Fields), api.CodeUnsupportedMediaType)
			}
		})
	}
	t.Run("AcceptsIdentity", func(t *testing.T) {
		t.Parallel()
		if got := string(readBody(t, compressed("Identity")).Content.Bytes); got != "a" {
			t.Errorf("content = %q, want a", got)
		}
	})
}

func TestReadStartBodyNormalizesMediaTypes(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"Application/JSON;Charset=UTF-8":          "application/json",
		`text/xml; charset="utf-8"`:               "text/xml",
		"text/plain; charset=US-ASCII":            "text/plain",
		"text/plain; charset=utf8":                "text/plain",
		"text/plain; charset=ISO-8859-1":          "text/plain; charset=iso-8859-1",
		"text/csv ; b=2;\tA=One ;":                "text/csv; a=One; b=2",
		`text/csv; delimiter=";"`:                 `text/csv; delimiter=";"`,
		" text/csv ":                              "text/csv",
		"application/x-www-form-urlencoded":       "application/x-www-form-urlencoded",
		"multipart/mixed; boundary=x":             "multipart/mixed; boundary=x",
		"application/vnd.api+zip;charset=\"x y\"": `application/vnd.api+zip; charset="x y"`,
		"application/xml; charset=ISO-8859-1":     "application/xml; charset=iso-8859-1",
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			if got := readBody(t, rawRequest(value, "a")).MediaType; got != want {
				t.Errorf("media type of %q = %q, want %q", value, got, want)
			}
		})
	}
}

func TestReadStartBodyCleansFilenames(t *testing.T) {
	t.Parallel()
	longest := strings.Repeat("\u00e4", 251) + ".csv"
	for value, want := range map[string]string{
		"":                      "",
		"a b.csv":               "a b.csv",
		"../../etc/passwd":      "passwd",
		`C:\data\m.csv`:         "m.csv",
		"/tmp\\x/m.csv":         "m.csv",
		"UTF-8''na%C3%AFve.csv": "na\u00efve.csv",
		"UTF-8''..%2Fm.csv":     "m.csv",
		"utf-8'en'a.csv":        "a.csv",
		"r%C3%A9%22.csv":        "r%C3%A9%22.csv",
		"it's 'mine'.csv":       "it's 'mine'.csv",
		"50%.csv":               "50%.csv",
		"..csv":                 "..csv",
		longest:                 longest,
		"می\u200cخواهم.csv":     "می\u200cخواهم.csv",
		"👩\u200d🔬.csv":          "👩\u200d🔬.csv",
	} {
		t.Run(value, func(t *testing.T) {
			t.Parallel()
			if got := readBody(t, namedRequest(value)).Filename; got != want {
				t.Errorf("file name of %q = %q, want %q", value, got, want)
			}
		})
	}
	t.Run("FromTheFilePart", func(t *testing.T) {
		t.Parallel()
		r := multipartRequest(t, "b", part{name: "file", filename: "../a/m.csv", content: "x"})
		if got := readBody(t, r).Filename; got != "m.csv" {
			t.Errorf("file name = %q, want m.csv", got)
		}
	})
	t.Run("AsBrowsersWriteThem", func(t *testing.T) {
		t.Parallel()
		for written, want := range map[string]string{
			`quo%22te;semi 50%25.csv`:              `quo"te;semi 50%25.csv`,
			`a.csv"; filename*="UTF-8''b%2522.csv`: "b%22.csv",
		} {
			r := multipartRequest(t, "b", part{name: "file", filename: written, content: "x"})
			if got := readBody(t, r).Filename; got != want {
				t.Errorf("file name of %s = %q, want %q", written, got, want)
			}
		}
	})
}

func compressed(encoding string) *http.Request {
	r := rawRequest("text/csv", "a")
	r.Header.Set("Content-Encoding", encoding)
	return r
}
