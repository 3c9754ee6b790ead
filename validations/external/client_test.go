package external

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/coretest/outside"
)

const (
	secret   = "svs_of-the-organization"
	document = "a,b\n1,2\n"
)

func newTestCall(tb testing.TB, address string, repeatable bool) Call {
	tb.Helper()
	body, err := NewBody(Envelope{
		Key: "sv-run-1-step-0", Receipt: uuid.Max, Run: uuid.Nil, Step: "check",
		MediaType: "text/csv", Filename: "a.csv",
		Size: int64(len(document)), Parameters: json.RawMessage(`{"year":2026}`),
	}, strings.NewReader(document))
	if err != nil {
		tb.Fatal(err)
	}
	return Call{
		URL: address, Headers: map[string]string{"X-Site": "north"}, Body: body,
		Secrets: [][]byte{[]byte(secret)}, AttemptTimeout: 10 * time.Second, Repeatable: repeatable, MaxAnswer: 1 << 20,
	}
}

func newTestClient() *Client {
	return NewClient(NewPolicy([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}), time.Microsecond)
}

func serve(tb testing.TB, handler http.Handler) string {
	tb.Helper()
	server := httptest.NewServer(handler)
	tb.Cleanup(server.Close)
	return server.URL
}

func TestClient(t *testing.T) {
	t.Parallel()

	t.Run("SendsADocument", func(t *testing.T) {
		t.Parallel()
		service := outside.NewValidator(secret)
		answer, err := newTestClient().Do(t.Context(), newTestCall(t, serve(t, service), true))
		if err != nil || answer.Accepted() || string(answer.Body) != outside.AnswerOf(true) {
			t.Fatalf("answer = %d %s, %v", answer.Status, answer.Body, err)
		}
		got := service.Calls()[0].Request
		want := outside.Request{
			Key: "sv-run-1-step-0", Receipt: uuid.Max.String(), Run: uuid.Nil.String(), Step: "check",
			MediaType: "text/csv", Filename: "a.csv",
			Size: 8, Parameters: json.RawMessage(`{"year":2026}`), Content: []byte(document),
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("request (-want +got):\n%s", diff)
		}
	})

	t.Run("SendsHeaders", func(t *testing.T) {
		t.Parallel()
		var got http.Header
		address := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			got = r.Header
			w.WriteHeader(http.StatusAccepted)
		}))
		answer, err := newTestClient().Do(t.Context(), newTestCall(t, address, true))
		if err != nil || !answer.Accepted() {
			t.Fatalf("answer = %+v, %v, want 202", answer, err)
		}
		got.Del("Sv-Signature")
		want := http.Header{
			"Content-Type": {"application/json"}, "Accept": {"application/json"}, "User-Agent": {"simplevalidations"},
			"Idempotency-Key": {"sv-run-1-step-0"}, "Sv-Receipt": {uuid.Max.String()}, "Sv-Run": {uuid.Nil.String()},
			"X-Site": {"north"}, "Connection": {"close"},
			"Content-Length": got["Content-Length"],
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("headers (-want +got):\n%s", diff)
		}
	})
}

func TestClientAttempts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		behavior outside.Behavior
		// attempts is how many there are of a call that may be repeated and of one that may not; 2 means that the
		// second is answered.
		repeatable, once int
		unknown          bool
		reason           string
	}{
		{outside.Busy, 2, 2, false, ""},
		{outside.FailBefore, 2, 1, true, "it answered with status 500"},
		{outside.DropBefore, 2, 1, true, "it did not answer"},
		{outside.FailAfter, 2, 1, true, "it answered with status 500"},
		{outside.DropAfter, 2, 1, true, "it did not answer"},
		{outside.Truncate, 2, 1, true, "the connection ended within its answer"},
		{outside.Redirect, 1, 1, false, "it redirects elsewhere, which is not followed"},
		{outside.Refuse, 1, 1, false, "it answered with status 422"},
		{outside.Compress, 1, 1, false, "its answer is compressed, which was not asked for"},
		{outside.Huge, 1, 1, false, "its answer is larger than 1048576 bytes"},
	} {
		for name, repeatable := range map[string]bool{"Repeatable": true, "Once": false} {
			t.Run(string(tt.behavior)+name, func(t *testing.T) {
				t.Parallel()
				service := outside.NewValidator(secret)
				service.Script(tt.behavior)
				want := tt.once
				if repeatable {
					want = tt.repeatable
				}
				_, err := newTestClient().Do(t.Context(), newTestCall(t, serve(t, service), repeatable))
				if service.Attempts() != want || service.Refused() != 0 || len(service.Calls()) > 1 {
					t.Errorf("attempts = %d, refused %d, calls %d; want %d, 0 and at most 1",
						service.Attempts(), service.Refused(), len(service.Calls()), want)
				}
				if want == 2 {
					if err != nil {
						t.Errorf("error = %v, want an answer", err)
					}
					return
				}
				failure, ok := errors.AsType[*CallError](err)
				if !ok || failure.Reason != tt.reason || failure.Unknown() != tt.unknown {
					t.Errorf("error = %v, want %q with unknown = %t", err, tt.reason, tt.unknown)
				}
			})
		}
	}
}

func TestClientEndsWithTheAttemptsTime(t *testing.T) {
	t.Parallel()
	for _, behavior := range []outside.Behavior{outside.Hang, outside.Drip} {
		t.Run(string(behavior), func(t *testing.T) {
			t.Parallel()
			service := outside.NewValidator(secret)
			service.Usually(behavior)
			call := newTestCall(t, serve(t, service), false)
			// The request itself has to arrive in this time, also on a busy machine.
			call.AttemptTimeout = 2 * time.Second
			_, err := newTestClient().Do(t.Context(), call)
			if failure, ok := errors.AsType[*CallError](err); !ok || failure.Reason != "it did not answer in time" ||
				!failure.Unknown() || service.Attempts() != 1 {
				t.Errorf("error = %v after %d attempts, want that there was no answer in time", err, service.Attempts())
			}
		})
	}
}

func TestClientEndsWithItsAttempts(t *testing.T) {
	t.Parallel()
	service := outside.NewValidator(secret)
	service.Usually(outside.FailAfter)
	_, err := newTestClient().Do(t.Context(), newTestCall(t, serve(t, service), true))
	if err == nil || service.Attempts() != maxAttempts || len(service.Calls()) != 1 {
		t.Errorf("error = %v after %d attempts, want one after %d", err, service.Attempts(), maxAttempts)
	}
}

func TestClientEndsBeforeAPauseThatIsTooLong(t *testing.T) {
	t.Parallel()
	var attempts atomic.Int64
	address := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		attempts.Add(1)
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := newTestClient().Do(ctx, newTestCall(t, address, false))
	if err == nil || attempts.Load() != 1 || ctx.Err() != nil {
		t.Errorf("error = %v after %d attempts, want one at once", err, attempts.Load())
	}
}

func TestClientEndsWithItsContext(t *testing.T) {
	t.Parallel()
	service := outside.NewValidator(secret)
	service.Usually(outside.Hang)
	ctx, cancel := context.WithCancel(t.Context())
	service.Watch(func(moment outside.Moment, _ outside.Request) {
		if moment == outside.Acted {
			cancel()
		}
	})
	_, err := newTestClient().Do(ctx, newTestCall(t, serve(t, service), true))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want canceled", err)
	}
}

func TestClientEndsReadingAnAnswerWithoutAnEnd(t *testing.T) {
	t.Parallel()
	const some = 64 << 20
	var written atomic.Int64
	ended := make(chan struct{})
	address := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		defer close(ended)
		page := bytes.Repeat([]byte(" "), 64<<10)
		for written.Load() < some {
			n, err := w.Write(page)
			if err != nil {
				return
			}
			written.Add(int64(n))
		}
	}))
	_, err := newTestClient().Do(t.Context(), newTestCall(t, address, true))
	<-ended
	if err == nil || written.Load() >= some {
		t.Errorf("error = %v after %d bytes, want one long before %d", err, written.Load(), some)
	}
}

func TestClientReadsNoHeaderOfAnyLength(t *testing.T) {
	t.Parallel()
	address := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Long", strings.Repeat("x", 2*maxAnswerHeaders))
	}))
	_, err := newTestClient().Do(t.Context(), newTestCall(t, address, false))
	if failure, ok := errors.AsType[*CallError](err); !ok || failure.Reason != "it did not answer" {
		t.Errorf("error = %v, want one of no answer", err)
	}
}

func TestParseRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"": 0, "0": 0, "120": 2 * time.Minute, "-1": 0, "1.5": 0, "soon": 0, "99999999999999999999": 0,
		"Fri, 02 Jan 2026 03:05:05 GMT": time.Minute, "Fri, 02 Jan 2026 03:00:00 GMT": 0,
		"Fri, 31 Dec 9999 23:59:59 GMT": maxRetryAfter,
	} {
		if got := ParseRetryAfter(text, now); got != want {
			t.Errorf("%q = %s, want %s", text, got, want)
		}
	}
}

func TestBody(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, 2, 3, 4, 3<<10 - 1, 3 << 10, 3<<10 + 1, 100_000} {
		t.Run(strconv.Itoa(size), func(t *testing.T) {
			t.Parallel()
			content := bytes.Repeat([]byte{0xff, 0, '"'}, size/3+1)[:size]
			body, err := NewBody(Envelope{Key: `"k"`, Size: int64(size)}, bytes.NewReader(content))
			if err != nil {
				t.Fatal(err)
			}
			first, err := io.ReadAll(iotest.OneByteReader(body.Reader()))
			if err != nil {
				t.Fatal(err)
			}
			second, err := io.ReadAll(body.Reader())
			if err != nil || !bytes.Equal(first, second) || int64(len(first)) != body.Len() {
				t.Fatalf("%d and %d bytes, %v; want twice the same %d", len(first), len(second), err, body.Len())
			}
			var got outside.Request
			err = json.Unmarshal(first, &got)
			if err != nil || !bytes.Equal(got.Content, content) || got.Key != `"k"` {
				t.Errorf("content = %d bytes, %v, want %d", len(got.Content), err, size)
			}
		})
	}
}
