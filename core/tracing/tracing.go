// Package tracing records spans of what the service does and sends them to a receiver of OpenTelemetry.
//
// A nil Tracer is off: its methods do nothing and allocate nothing, so that callers need not check for it. The SDK is
// used without its globals, except for its error handler, which can only be set globally.
package tracing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// scope names the instrumentation in every span.
const scope = "github.com/simplevalidations/simplevalidations"

// tracesPath is where receivers take traces. Operators name it or leave it out.
const tracesPath = "/v1/traces"

// Tracer makes spans.
type Tracer struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
}

// Open makes a Tracer that sends spans to the endpoint, such as http://collector:4318, in the background. The OTEL_
// variables of the environment count, too: headers, certificates, the sampler and attributes of the resource. An empty
// endpoint is no tracing.
func Open(ctx context.Context, endpoint, version string, log *slog.Logger) (*Tracer, error) {
	if endpoint == "" {
		return nil, nil //nolint:nilnil // a nil Tracer is off
	}
	exporter, err := otlptracehttp.New(ctx, to(endpoint))
	if err != nil {
		return nil, fmt.Errorf("make the exporter of traces: %w", err)
	}
	described, err := resource.New(ctx, resource.WithHost(), resource.WithProcessPID(), resource.WithAttributes(
		attribute.String("service.name", "simplevalidations"), attribute.String("service.version", version),
	), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("describe the process for traces: %w", err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		log.WarnContext(ctx, "traces could not be sent", "error", err)
	}))
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(described))
	return &Tracer{provider: provider, tracer: provider.Tracer(scope, trace.WithInstrumentationVersion(version))}, nil
}

// to says where spans are sent.
func to(endpoint string) otlptracehttp.Option { //nolint:ireturn // an option is an interface
	return otlptracehttp.WithEndpointURL(strings.TrimSuffix(strings.TrimSuffix(endpoint, "/"), tracesPath) + tracesPath)
}

// Check sends the endpoint a trace of one span, as a Tracer would, and returns why it was not accepted.
func Check(ctx context.Context, endpoint string) error {
	exporter, err := otlptracehttp.New(ctx, to(endpoint))
	if err != nil {
		return fmt.Errorf("make the exporter of traces: %w", err)
	}
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(exporter), sdktrace.WithSampler(sdktrace.AlwaysSample()))
	_, span := provider.Tracer(scope).Start(ctx, "check")
	span.End()
	if err := errors.Join(provider.ForceFlush(ctx), provider.Shutdown(ctx)); err != nil {
		return fmt.Errorf("send a trace: %w", err)
	}
	return nil
}

// On reports whether anything is traced.
func (t *Tracer) On() bool { return t != nil }

// Close sends the spans that have ended and stops.
func (t *Tracer) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	if err := t.provider.Shutdown(ctx); err != nil {
		return fmt.Errorf("send the last traces: %w", err)
	}
	return nil
}

// Flush sends the spans that have ended.
func (t *Tracer) Flush(ctx context.Context) error {
	if t == nil {
		return nil
	}
	if err := t.provider.ForceFlush(ctx); err != nil {
		return fmt.Errorf("send traces: %w", err)
	}
	return nil
}

// Span is a part of a trace; the zero Span is none.
type Span struct {
	span trace.Span
}

// Start begins a span below the one of the context.
func (t *Tracer) Start(ctx context.Context, name string) (context.Context, Span) {
	if t == nil {
		return ctx, Span{}
	}
	ctx, span := t.tracer.Start(ctx, name)
	return ctx, Span{span}
}

// Serve begins the span of a request, below the one that the client has named.
func (t *Tracer) Serve(ctx context.Context, name string, header http.Header) (context.Context, Span) {
	if t == nil {
		return ctx, Span{}
	}
	ctx = extract(ctx, Origin{
		// A header of several lines is one list.
		Traceparent: strings.Join(header["Traceparent"], ","), Tracestate: strings.Join(header["Tracestate"], ","),
	})
	ctx, span := t.tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindServer))
	return ctx, Span{span}
}

// Call begins the span of a call of another service, and adds it to the headers of the call.
func (t *Tracer) Call(ctx context.Context, name string, header http.Header) (context.Context, Span) {
	if t == nil {
		return ctx, Span{}
	}
	ctx, span := t.tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindClient))
	propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(header))
	return ctx, Span{span}
}

// Join begins a span below one of another process.
func (t *Tracer) Join(ctx context.Context, name string, origin Origin) (context.Context, Span) {
	if t == nil {
		return ctx, Span{}
	}
	ctx, span := t.tracer.Start(extract(ctx, origin), name, trace.WithSpanKind(trace.SpanKindConsumer))
	return ctx, Span{span}
}

// Waited records a span of another process that has ended now and took this long.
func (t *Tracer) Waited(ctx context.Context, name string, origin Origin, took time.Duration) {
	if t == nil {
		return
	}
	_, span := t.tracer.Start(extract(ctx, origin), name, trace.WithTimestamp(time.Now().Add(-took)))
	span.End()
}

// Together begins a span of work for many traces: below the first one that is sampled, with links to all of these.
// Without any it is no span.
func (t *Tracer) Together(ctx context.Context, name string, origins []Origin) (context.Context, Span) {
	if t == nil {
		return ctx, Span{}
	}
	var links []trace.Link
	for _, origin := range origins {
		if at := trace.SpanContextFromContext(extract(ctx, origin)); at.IsSampled() {
			links = append(links, trace.Link{SpanContext: at})
		}
	}
	if len(links) == 0 {
		return ctx, Span{}
	}
	ctx = trace.ContextWithSpanContext(ctx, links[0].SpanContext)
	ctx, span := t.tracer.Start(ctx, name, trace.WithLinks(links...))
	return ctx, Span{span}
}

// On reports whether the span is recorded, so that what describes it need not be made otherwise.
func (s Span) On() bool { return s.span != nil && s.span.IsRecording() }

// Set sets an attribute of the span.
func (s Span) Set(key, value string) {
	if s.span != nil {
		s.span.SetAttributes(attribute.String(key, value))
	}
}

// SetInt sets an attribute of the span to a number.
func (s Span) SetInt(key string, value int) {
	if s.span != nil {
		s.span.SetAttributes(attribute.Int(key, value))
	}
}

// Fail marks the work of the span as failed.
func (s Span) Fail(why string) {
	if s.span != nil {
		s.span.SetStatus(codes.Error, why)
	}
}

// End ends the span.
func (s Span) End() {
	if s.span != nil {
		s.span.End()
	}
}
