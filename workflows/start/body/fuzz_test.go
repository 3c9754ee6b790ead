package body_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/workflows/start/body"
)

// FuzzReadMultipart checks that any body is either refused with a reason or gives what can be stored.
func FuzzReadMultipart(f *testing.F) {
	for _, document := range []string{
		"--b\r\nContent-Disposition: form-data; name=file; filename=a.csv\r\n\r\nx\r\n--b--\r\n",
		"--b\nContent-Disposition: form-data; name=\"metadata\"\n\n{}\n--b\nContent-Disposition: form-data; name=file",
		"--b\r\nContent-Disposition: form-data; name=file; filename*=utf-8''%00\r\n\r\n\r\n--b--",
		"--b\r\nContent-Transfer-Encoding: base64\r\n\r\n--b--", "--b--", "",
	} {
		f.Add("multipart/form-data; boundary=b", document)
	}
	f.Add("application/json", `{"content":{"a":1},"metadata":{"b":"\u0000"}}`)
	f.Add("application/json", `{"content":"YQ==","content_encoding":"base64","filename":"a/b"}`)
	f.Add("text/csv; charset=\"", "a,b")
	f.Fuzz(func(t *testing.T, contentType, content string) {
		read := func() (body.Body, error) {
			r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(content))
			r.Header["Content-Type"] = []string{contentType}
			return body.Read(r, limits(), new(validations.Intake))
		}
		document, err := read()
		if err != nil {
			problem, ok := errors.AsType[*core.Error](err)
			if !ok || core.Spec(problem.Code).Status/100 != 4 || problem.Detail == "" {
				t.Fatalf("error = %v, want a *core.Error that blames the request", err)
			}
			return
		}
		checkStorable(t, document, len(content))
		again, err := read()
		if err != nil || fmt.Sprint(again) != fmt.Sprint(document) {
			t.Errorf("read again = %v, %v, want %v", again, err, document)
		}
	})
}

func checkStorable(tb testing.TB, document body.Body, sent int) {
	tb.Helper()
	if size := document.Content.Size; size == 0 || size > int64(sent) {
		tb.Errorf("content has %d bytes, want 1 to %d", size, sent)
	}
	for _, text := range []string{
		document.MediaType, document.Filename, document.Name, document.ShortDescription, document.Metadata,
	} {
		if !utf8.ValidString(text) || strings.Contains(text, "\x00") {
			tb.Errorf("text = %q, want UTF-8 without NUL", text)
		}
	}
	if strings.ContainsAny(document.Filename, "/\\\r\n") || document.Filename == ".." {
		tb.Errorf("file name = %q, want no path", document.Filename)
	}
}

// TestFingerprintOfShuffledForms checks with many generated forms that what does not matter leaves the
// fingerprint alone and that what does matter changes it.
func TestFingerprintOfShuffledForms(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	names := []string{"name", "filename", "short_description"}
	texts := []string{"", "a", "b", "ab", "a;b", "=", "file", "name"}
	meanings, sums := map[idempotency.Digest]string{}, map[string]idempotency.Digest{}
	for range 500 {
		parts := []part{{name: "file", content: texts[1+random.IntN(len(texts)-1)]}}
		values := []string{parts[0].content}
		for _, name := range names {
			text := texts[random.IntN(len(texts))]
			values = append(values, text)
			if text != "" || random.IntN(2) == 0 {
				parts = append(parts, part{name: name, content: text})
			}
		}
		meaning := fmt.Sprintf("%q", values)
		random.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
		boundary := fmt.Sprintf("b%d", random.IntN(1000))
		sum := fingerprintOf(t, multipartRequest(t, boundary, parts...)).Sum
		if other, found := meanings[sum]; found && other != meaning {
			t.Fatalf("%s and %s have one fingerprint", other, meaning)
		}
		if other, found := sums[meaning]; found && other != sum {
			t.Fatalf("%s has the fingerprints %x and %x", meaning, other, sum)
		}
		meanings[sum], sums[meaning] = meaning, sum
	}
}
