package body_test

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/validations"
)

// padded is a JSON document of so many bytes.
func padded(size int) string {
	const document = `{"a": [1.0, 2]}`
	return document + strings.Repeat(" ", size-len(document))
}

// TestReadStartBodyOfAnySize checks that a document is taken in whole and fingerprinted by the same rules, whether it
// comes with its length or without, and whether it is held in memory or not.
func TestReadStartBodyOfAnySize(t *testing.T) {
	t.Parallel()
	const structured = 1 << 20
	structure, err := idempotency.DigestJSON([]byte(padded(100)), 10)
	if err != nil {
		t.Fatal(err)
	}
	for _, contentType := range []string{"application/json", "application/geo+json", "text/csv", "multipart"} {
		for _, size := range []int{
			validations.MaxInlineBytes, validations.MaxInlineBytes + 1, structured, structured + 1, 3 << 20,
		} {
			t.Run(fmt.Sprintf("%s/%d", contentType, size), func(t *testing.T) {
				t.Parallel()
				document := padded(size)
				want := idempotency.DigestBytes([]byte(document))
				if strings.HasSuffix(contentType, "json") && size <= structured {
					want = structure
				}
				request := func() *http.Request {
					if contentType == "multipart" {
						return multipartRequest(t, "b", part{name: "file", content: document})
					}
					return rawRequest(contentType, document)
				}
				unannounced := request()
				unannounced.ContentLength, unannounced.Body = -1, io.NopCloser(iotest.HalfReader(unannounced.Body))
				for _, r := range []*http.Request{request(), unannounced} {
					body := readBody(t, r)
					if body.Content.Size != int64(size) || body.Content.SHA256 != sha256.Sum256([]byte(document)) {
						t.Errorf("took %d bytes in, want the %d of the document", body.Content.Size, size)
					}
					if body.ContentDigest != want {
						t.Errorf("fingerprint of the content = %x, want %x", body.ContentDigest, want)
					}
				}
			})
		}
	}
}
