package pages

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/labstack/echo/v4"
)

func TestAssetsAreCompressedOnRequest(t *testing.T) {
	t.Parallel()
	e := echo.New()
	if err := Register(e); err != nil {
		t.Fatal(err)
	}
	files, err := newAssets()
	if err != nil {
		t.Fatal(err)
	}
	for name, file := range files {
		want, err := file.body()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, encoding := range []string{"", "gzip"} {
			req := httptest.NewRequest(http.MethodGet, file.address, http.NoBody)
			req.Header.Set(echo.HeaderAcceptEncoding, encoding)
			answer := httptest.NewRecorder()
			e.ServeHTTP(answer, req)
			if got := answer.Header().Get(echo.HeaderContentEncoding); got != encoding {
				t.Errorf("%s: Content-Encoding = %q, want %q", name, got, encoding)
			}
			if got := unpacked(t, answer.Body.Bytes(), encoding); !bytes.Equal(got, want) {
				t.Errorf("%s, encoding %q: %d bytes, want the %d of the file", name, encoding, len(got), len(want))
			}
			if answer.Header().Get(echo.HeaderVary) != echo.HeaderAcceptEncoding {
				t.Errorf("%s does not vary by the encoding", name)
			}
		}
	}
}

func unpacked(tb testing.TB, body []byte, encoding string) []byte {
	tb.Helper()
	if encoding == "" {
		return body
	}
	reader, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		tb.Fatal(err)
	}
	text, err := io.ReadAll(reader)
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

func TestEverySectionHasAnIcon(t *testing.T) {
	t.Parallel()
	files, err := newAssets()
	if err != nil {
		t.Fatal(err)
	}
	icons, err := files["icons.svg"].body()
	if err != nil {
		t.Fatal(err)
	}
	for _, section := range []Section{
		SectionOverview, SectionRuns, SectionWorkflows, SectionKeys, SectionRequests, SectionUsage, SectionTokens,
		SectionMembers, SectionWebhooks, SectionAudit, SectionOperations,
	} {
		if !bytes.Contains(icons, []byte(`<symbol id="`+section.Icon()+`"`)) {
			t.Errorf("icons.svg has no %s", section.Icon())
		}
	}
}
