package body_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/workflows/start/body"
)

// stream is a request body that counts what is read of it.
type stream struct {
	source io.Reader
	read   int64
}

func (s *stream) Read(p []byte) (int, error) {
	n, err := s.source.Read(p)
	s.read += int64(n)
	return n, err
}

func (s *stream) Close() error { return nil }

// endless repeats one byte for ever.
type endless byte

func (e endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(e)
	}
	return len(p), nil
}

func streamed(contentType string, source io.Reader) (*http.Request, *stream) {
	r := rawRequest(contentType, "")
	document := &stream{source: source}
	r.Body, r.ContentLength = document, -1
	return r, document
}

func TestReadStartBodyLimitsItsSize(t *testing.T) {
	t.Parallel()
	const form = "multipart/form-data; boundary=b"
	const head = "--b\r\nContent-Disposition: form-data; name=file\r\n\r\n"
	for _, tt := range []struct{ name, contentType, begin string }{
		{"raw", "text/csv", ""},
		{"envelope", "application/json", `{"content":"`},
		{"file part", form, head},
		{"epilogue", form, head + "x\r\n--b--\r\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, document := streamed(tt.contentType, io.MultiReader(strings.NewReader(tt.begin), endless('x')))
			if got := refusal(t, r); got.Code != api.CodePayloadTooLarge {
				t.Errorf("error = %v, want %s", got, api.CodePayloadTooLarge)
			}
			if document.read > maxBodyBytes+1 {
				t.Errorf("read %d bytes, want at most %d", document.read, maxBodyBytes+1)
			}
		})
	}
	t.Run("BelievesContentLength", func(t *testing.T) {
		t.Parallel()
		r, document := streamed("text/csv", endless('x'))
		r.ContentLength = maxBodyBytes + 1
		if got := refusal(t, r); got.Code != api.CodePayloadTooLarge || document.read != 0 {
			t.Errorf("error = %v after %d bytes, want %s after none", got, document.read, api.CodePayloadTooLarge)
		}
	})
	t.Run("AllowsTheLargest", func(t *testing.T) {
		t.Parallel()
		r, _ := streamed("text/csv", io.LimitReader(endless('x'), maxBodyBytes))
		if got := readBody(t, r).Content.Size; got != maxBodyBytes {
			t.Errorf("content has %d bytes, want %d", got, maxBodyBytes)
		}
	})
	t.Run("RefusesOneByteMore", func(t *testing.T) {
		t.Parallel()
		r, _ := streamed("text/csv", io.LimitReader(endless('x'), maxBodyBytes+1))
		if got := refusal(t, r); got.Code != api.CodePayloadTooLarge {
			t.Errorf("error = %v, want %s", got, api.CodePayloadTooLarge)
		}
	})
	t.Run("StopsInThePartsHeader", func(t *testing.T) {
		t.Parallel()
		r, document := streamed(form, io.MultiReader(strings.NewReader("--b\r\nX: "), endless('x')))
		if got := refusal(t, r); got.Code != api.CodeInvalidPayload {
			t.Errorf("error = %v, want %s", got, api.CodeInvalidPayload)
		}
		if want := limits().MaxPartHeaderBytes; document.read > want {
			t.Errorf("read %d bytes, want at most %d", document.read, want)
		}
	})
	t.Run("StopsInTheTextPart", func(t *testing.T) {
		t.Parallel()
		text := strings.Replace(head, "file", "name", 1)
		r, document := streamed(form, io.MultiReader(strings.NewReader(text), endless('x')))
		if got := refusal(t, r); got.Code != api.CodeInvalidPayload {
			t.Errorf("error = %v, want %s", got, api.CodeInvalidPayload)
		}
		if want := limits().MaxTextBytes + 16<<10; document.read > want {
			t.Errorf("read %d bytes, want at most %d", document.read, want)
		}
	})
}

func TestReadStartBodyOverAConnection(t *testing.T) {
	t.Parallel()
	const request = "POST / HTTP/1.1\r\nHost: h\r\nContent-Type: text/csv\r\n"
	const form = "POST / HTTP/1.1\r\nHost: h\r\nContent-Type: multipart/form-data; boundary=b\r\n"
	const part = "--b\r\nContent-Disposition: form-data; name=file\r\n\r\nx"
	t.Run("ClientHangsUp", func(t *testing.T) {
		t.Parallel()
		for _, sent := range []string{
			request + "Content-Length: 9\r\n\r\na,b",
			request + "Transfer-Encoding: chunked\r\n\r\n9\r\na,b",
			form + "Content-Length: 999\r\n\r\n" + part,
			form + "Content-Length: 999\r\n\r\n" + part + "\r\n--b--\r\n",
		} {
			err := served(t, sent, func(*http.ResponseController) error { return nil })
			problem, found := errors.AsType[*core.Error](err)
			if !found || problem.Code != api.CodeInvalidPayload || !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("error = %v after %q, want %s", err, sent, api.CodeInvalidPayload)
			}
		}
	})
	t.Run("BodyComesTooLate", func(t *testing.T) {
		t.Parallel()
		for _, sent := range []string{
			request + "Content-Length: 9\r\n\r\n",
			form + "Content-Length: 999\r\n\r\n",
		} {
			err := served(t, sent, func(c *http.ResponseController) error { return c.SetReadDeadline(time.Unix(1, 0)) })
			problem, found := errors.AsType[*core.Error](err)
			if !found || problem.Code != api.CodeRequestTimeout || !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("error = %v after %q, want %s", err, sent, api.CodeRequestTimeout)
			}
		}
	})
	t.Run("BrokenChunk", func(t *testing.T) {
		t.Parallel()
		sent := request + "Transfer-Encoding: chunked\r\n\r\nzz\r\na,b"
		err := served(t, sent, func(*http.ResponseController) error { return nil })
		if problem, found := errors.AsType[*core.Error](err); !found || problem.Code != api.CodeInvalidPayload {
			t.Errorf("error = %v, want %s", err, api.CodeInvalidPayload)
		}
	})
	t.Run("Canceled", func(t *testing.T) {
		t.Parallel()
		r, _ := streamed("text/csv", failing{context.Canceled})
		_, err := body.Read(r, limits(), new(validations.Intake))
		problem, found := errors.AsType[*core.Error](err)
		if !found || problem.Code != api.CodeInvalidPayload || !errors.Is(err, context.Canceled) {
			t.Errorf("error = %v, want %s", err, api.CodeInvalidPayload)
		}
	})
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// served sends a request byte for byte to a server and returns what ReadStartBody made of it there.
func served(tb testing.TB, sent string, prepare func(*http.ResponseController) error) error {
	tb.Helper()
	results := make(chan error, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := prepare(http.NewResponseController(w)); err != nil {
			tb.Errorf("prepare the connection: %v", err)
		}
		_, err := body.Read(r, limits(), new(validations.Intake))
		results <- err
	}))
	defer server.Close()
	connection, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		tb.Fatalf("dial: %v", err)
	}
	defer connection.Close()
	if _, err := io.WriteString(connection, sent); err != nil {
		tb.Fatalf("send: %v", err)
	}
	tcp, ok := connection.(*net.TCPConn)
	if !ok {
		tb.Fatalf("connection is a %T, want TCP", connection)
	}
	if err := tcp.CloseWrite(); err != nil {
		tb.Fatalf("hang up: %v", err)
	}
	return <-results
}
