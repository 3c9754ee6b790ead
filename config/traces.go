package config

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/tracing"
)

// traced makes each request but the probes a span, below the one that the client names. It stands before the log, so
// that the line of a request has its ids.
func traced(tracer *tracing.Tracer) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		if !tracer.On() {
			return next
		}
		return func(c echo.Context) error {
			if c.Path() == "/livez/" || c.Path() == "/readyz/" {
				return next(c)
			}
			ctx, span := tracer.Serve(c.Request().Context(), c.Request().Method+" "+c.Path(), c.Request().Header)
			defer span.End()
			c.SetRequest(c.Request().WithContext(ctx))
			err := next(c)
			if span.On() {
				describeSpan(span, c)
			}
			return err
		}
	}
}

func describeSpan(span tracing.Span, c echo.Context) {
	span.Set("http.request.method", c.Request().Method)
	span.Set("http.route", c.Path())
	span.SetInt("http.response.status_code", c.Response().Status)
	span.Set("sv.request_id", core.RequestID(c.Request().Context()))
	for _, attr := range describeRequest(c) {
		span.Set("sv."+attr.Key, attr.Value.String())
	}
	if c.Response().Status >= http.StatusInternalServerError {
		span.Fail(http.StatusText(c.Response().Status))
	}
}

// flushTraces sends the last spans of a process that ends.
func (p *Project) flushTraces(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastFlushLimit)
	defer cancel()
	if err := p.tracer.Close(ctx); err != nil {
		p.log.WarnContext(ctx, "the last traces are lost", "error", err)
	}
}
