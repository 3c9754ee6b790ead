package tracing

import (
	"context"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

const (
	// maxState is how many characters of a tracestate every participant of a trace has to pass on.
	maxState = 512
	// longMember is the length above which members of a tracestate that is too long are removed first.
	longMember = 128
)

// Origin leads another process to a span: the two headers of the W3C Trace Context. The zero Origin leads nowhere.
type Origin struct {
	// Traceparent names the span, and has the caller's sampling flag.
	Traceparent string
	// Tracestate is what other tracing systems have said about the trace, in at most 512 characters.
	Tracestate string
}

// Origin returns the place of the context's span, for another process.
func (t *Tracer) Origin(ctx context.Context) Origin {
	if t == nil {
		return Origin{}
	}
	at := trace.SpanContextFromContext(ctx)
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	// A sampler may have added to what came with the request.
	return Origin{carrier["traceparent"], bounded(at.TraceState()).String()}
}

// extract returns a context below the origin. A traceparent that is invalid counts as none, and so does a tracestate
// that is invalid as a whole or in one of its members: the specification leaves no other way to be sure of the rest.
func extract(ctx context.Context, origin Origin) context.Context {
	if origin.Traceparent == "" {
		return ctx
	}
	ctx = propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{
		"traceparent": origin.Traceparent, "tracestate": origin.Tracestate,
	})
	at := trace.SpanContextFromContext(ctx)
	if len(origin.Tracestate) <= maxState || !at.IsValid() {
		return ctx
	}
	return trace.ContextWithRemoteSpanContext(ctx, at.WithTraceState(bounded(at.TraceState())))
}

// bounded removes whole members from a tracestate that is too long: first the long ones and then any, each time from
// the end, where the systems are that have joined the trace first.
func bounded(state trace.TraceState) trace.TraceState {
	size := len(state.String())
	if size <= maxState {
		return state
	}
	type member struct {
		key  string
		size int
	}
	var members []member
	state.Walk(func(key, value string) bool {
		members = append(members, member{key, len(key) + len("=") + len(value)})
		return true
	})
	for _, least := range []int{longMember + 1, 0} {
		for i := len(members) - 1; i >= 0 && size > maxState; i-- {
			// What was removed as a long member is skipped.
			if one := members[i]; one.size >= least && state.Get(one.key) != "" {
				state = state.Delete(one.key)
				size -= one.size + len(",")
			}
		}
	}
	return state
}
