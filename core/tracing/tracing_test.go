package tracing_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/simplevalidations/simplevalidations/core/tracing"
)

// Whoever does not trace pays nothing.
//
//nolint:paralleltest // Allocations are counted for the whole process.
func TestNoTracingAllocatesNothing(t *testing.T) {
	tracer, err := tracing.Open(t.Context(), "", "1", nil)
	if err != nil {
		t.Fatal(err)
	}
	header := http.Header{
		"Traceparent": {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}, "Tracestate": {"one=1", "two=2"},
	}
	ctx := t.Context()
	allocations := testing.AllocsPerRun(100, func() {
		ctx, request := tracer.Serve(ctx, "request", header)
		ctx, span := tracer.Start(ctx, "part")
		origin := tracer.Origin(ctx)
		ctx, together := tracer.Together(ctx, "batch", []tracing.Origin{origin})
		ctx, joined := tracer.Join(ctx, "execute", origin)
		tracer.Waited(ctx, "queue", tracing.Origin{}, time.Second)
		_, call := tracer.Call(ctx, "call", header)
		for _, s := range []tracing.Span{request, span, together, joined, call} {
			if s.On() {
				t.Error("a span is recorded")
			}
			s.Set("key", "value")
			s.SetInt("key", 1)
			s.Fail("why")
			s.End()
		}
	})
	if allocations != 0 {
		t.Errorf("allocations = %v, want 0", allocations)
	}
}

// Lines of the log lead to the span that they were written in.
func TestLogNamesTheSpan(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	tracer, err := tracing.Open(t.Context(), server.URL, "1", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	log := tracer.Log(slog.New(slog.NewTextHandler(&text, nil))).With("part", "test")
	ctx, span := tracer.Join(t.Context(), "execute",
		tracing.Origin{Traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"})
	log.InfoContext(ctx, "inside")
	span.End()
	if line := text.String(); !strings.Contains(line, "trace_id=0af7651916cd43dd8448eb211c80319c span_id=") {
		t.Errorf("line = %s, want the ids of the span", line)
	}
	text.Reset()
	log.InfoContext(t.Context(), "outside")
	if line := text.String(); strings.Contains(line, "trace_id") {
		t.Errorf("line = %s, want no ids", line)
	}
}

// A sampler may add to a tracestate that has come with a request, and what is stored is bounded all the same.
func TestOriginIsBounded(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	tracer, err := tracing.Open(t.Context(), server.URL, "1", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	state, err := trace.ParseTraceState("sampler=1,a=" + strings.Repeat("v", 250) + ",b=" + strings.Repeat("v", 250))
	if err != nil {
		t.Fatal(err)
	}
	ctx := trace.ContextWithSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}, TraceState: state,
	}))
	if got, want := tracer.Origin(ctx).Tracestate, "sampler=1,a="+strings.Repeat("v", 250); got != want {
		t.Errorf("tracestate = %s, want %s", got, want)
	}
}

// Operators name the address of a receiver with and without the path of traces.
func TestEndpointWithItsPath(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"", "/", "/v1/traces", "/v1/traces/"} {
		asked := make(chan string, 1)
		server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			asked <- r.URL.Path
		}))
		t.Cleanup(server.Close)
		tracer, err := tracing.Open(t.Context(), server.URL+path, "1", slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		_, span := tracer.Start(t.Context(), "part")
		span.End()
		if err := tracer.Close(t.Context()); err != nil {
			t.Errorf("%q: send the spans: %v", path, err)
			continue
		}
		if got := <-asked; got != "/v1/traces" {
			t.Errorf("%q: spans were sent to %s, want /v1/traces", path, got)
		}
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]string{http.StatusOK: "", http.StatusUnauthorized: "401"} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
		}))
		t.Cleanup(server.Close)
		err := tracing.Check(t.Context(), server.URL)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("a receiver that answers %d: %v, want %q", status, err, want)
		}
	}
}
