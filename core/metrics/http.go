package metrics

import (
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
)

// HTTP measures requests.
type HTTP struct {
	durations    *prometheus.HistogramVec
	quotaDenials prometheus.Counter
}

func newHTTP(registry *prometheus.Registry) *HTTP {
	h := &HTTP{
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "sv_http_request_duration_seconds",
			Help:    "How long requests took, waits that they asked for included.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
		}, []string{"route", "method", "code"}),
		quotaDenials: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "sv_quota_denials_total",
			Help: "Requests refused because the quota of their organization is used up.",
		}),
	}
	registry.MustRegister(h.durations, h.quotaDenials)
	return h
}

// Observe is a core.Observer that measures requests.
func (h *HTTP) Observe(c echo.Context) func(core.Observed) {
	return func(seen core.Observed) {
		if seen.Refusal != nil && seen.Refusal.Code == api.CodeQuotaExceeded {
			h.quotaDenials.Inc()
		}
		h.durations.WithLabelValues(routeOf(c), methodOf(c.Request()), strconv.Itoa(seen.Status)).
			Observe(seen.Took.Seconds())
	}
}

// routeOf is the pattern that the router has found, never the path: of those a client can make any number.
func routeOf(c echo.Context) string {
	if route := c.Path(); route != "" {
		return route
	}
	return "none"
}

func methodOf(r *http.Request) string {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodOptions:
		return r.Method
	default:
		return "other"
	}
}
