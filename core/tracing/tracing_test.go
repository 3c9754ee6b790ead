package tracing_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

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
		place := tracer.PlaceOf(ctx)
		ctx, together := tracer.Together(ctx, "batch", []tracing.Place{place})
		ctx, joined := tracer.Join(ctx, "execute", tracer.Origin(ctx))
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

// BenchmarkRequest makes the spans of a request whose run is executed elsewhere.
func BenchmarkRequest(b *testing.B) {
	server := httptest.NewServer(http.NotFoundHandler())
	b.Cleanup(server.Close)
	header := http.Header{"Traceparent": {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}}
	for name, endpoint := range map[string]string{"Off": "", "On": server.URL} {
		b.Run(name, func(b *testing.B) {
			tracer, err := tracing.Open(b.Context(), endpoint, "1", slog.New(slog.DiscardHandler))
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				ctx, request := tracer.Serve(b.Context(), "request", header)
				ctx, start := tracer.Start(ctx, "start")
				ctx, commit := tracer.Together(ctx, "start.commit", []tracing.Place{tracer.PlaceOf(ctx)})
				origin := tracer.Origin(ctx)
				commit.End()
				start.End()
				request.End()
				tracer.Waited(b.Context(), "run.queue", origin, time.Millisecond)
				_, run := tracer.Join(b.Context(), "run.execute", origin)
				run.End()
			}
		})
	}
}
