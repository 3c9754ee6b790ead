package edge

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/tracing"
)

// Traced makes each request but the probes a span, below the one that the client names. It stands before the log, so
// that the line of a request has its ids.
func Traced(tracer *tracing.Tracer) echo.MiddlewareFunc {
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
	for _, attr := range DescribeRequest(c) {
		span.Set("sv."+attr.Key, attr.Value.String())
	}
	if c.Response().Status >= http.StatusInternalServerError {
		span.Fail(http.StatusText(c.Response().Status))
	}
}
