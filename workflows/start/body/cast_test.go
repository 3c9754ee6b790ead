package body_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/workflows/start/body"
)

const maxBodyBytes = 4 << 20

// part is one part of a multipart body.
type part struct {
	name, filename, contentType, content string
	// header holds further header lines.
	header map[string]string
}

func rawRequest(contentType, content string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(content))
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	return r
}

func envelopeRequest(content string) *http.Request {
	return rawRequest("application/json", content)
}

func namedRequest(filename string) *http.Request {
	r := rawRequest("text/csv", "a,b")
	r.Header.Set("X-Filename", filename)
	return r
}

func multipartRequest(tb testing.TB, boundary string, parts ...part) *http.Request {
	tb.Helper()
	var document bytes.Buffer
	writer := multipart.NewWriter(&document)
	if err := writer.SetBoundary(boundary); err != nil {
		tb.Fatalf("set the boundary: %v", err)
	}
	for _, p := range parts {
		header := textproto.MIMEHeader{}
		disposition := fmt.Sprintf("form-data; name=%q", p.name)
		if p.filename != "" {
			disposition += `; filename="` + p.filename + `"`
		}
		header.Set("Content-Disposition", disposition)
		if p.contentType != "" {
			header.Set("Content-Type", p.contentType)
		}
		for name, value := range p.header {
			header.Set(name, value)
		}
		w, err := writer.CreatePart(header)
		if err != nil {
			tb.Fatalf("create a part: %v", err)
		}
		if _, err := io.WriteString(w, p.content); err != nil {
			tb.Fatalf("write a part: %v", err)
		}
	}
	if err := writer.Close(); err != nil {
		tb.Fatalf("close the body: %v", err)
	}
	return rawRequest(writer.FormDataContentType(), document.String())
}

func limits() body.Limits {
	return body.DefaultLimits(maxBodyBytes)
}

// kept is a document as it is taken in.
func kept(document string) validations.Content {
	return validations.InlineContent([]byte(document))
}

// stored is what is stored of a body, without its share of a fingerprint.
func stored(document body.Body) body.Body {
	document.ContentDigest, document.FingerprintMediaType, document.Options = idempotency.Digest{}, "", nil
	return document
}

func readBody(tb testing.TB, r *http.Request) body.Body {
	tb.Helper()
	document, err := body.Read(r, limits(), new(validations.Intake))
	if err != nil {
		tb.Fatalf("ReadStartBody: %v", err)
	}
	return document
}

func fingerprintOf(tb testing.TB, r *http.Request) idempotency.Fingerprint {
	tb.Helper()
	document := readBody(tb, r)
	return idempotency.Request{
		Method: http.MethodPost, Endpoint: "workflow_start", Target: "w",
		MediaType: document.FingerprintMediaType, Content: document.ContentDigest, Options: document.Options,
	}.Fingerprint()
}

// refusal reads a request that must be refused.
func refusal(tb testing.TB, r *http.Request) *core.Error {
	tb.Helper()
	document, err := body.Read(r, limits(), new(validations.Intake))
	problem, ok := errors.AsType[*core.Error](err)
	if !ok {
		tb.Fatalf("ReadStartBody = %.200q, %v, want a *core.Error", document.Content.Bytes, err)
	}
	return problem
}
