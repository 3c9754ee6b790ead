package metrics

import "github.com/prometheus/client_golang/prometheus"

// Requests measures the log of requests.
type Requests struct {
	refused          *prometheus.CounterVec
	written, dropped prometheus.Counter
}

func newRequests(registry *prometheus.Registry) *Requests {
	refused := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "sv_starts_refused_total", Help: "Starts and reruns that were refused, by the code of the problem.",
	}, []string{"code"})
	entries := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "sv_request_log_entries_total",
		Help: "Requests for the log: written, or dropped because there were more than it has room for.",
	}, []string{"outcome"})
	registry.MustRegister(refused, entries)
	return &Requests{
		refused: refused,
		written: entries.WithLabelValues("written"), dropped: entries.WithLabelValues("dropped"),
	}
}

// StartRefused counts a start that was refused.
func (r *Requests) StartRefused(code string) { r.refused.WithLabelValues(code).Inc() }

// Written counts requests that are in the log.
func (r *Requests) Written(n int) { r.written.Add(float64(n)) }

// Dropped counts requests that the log had no room for.
func (r *Requests) Dropped(n int) { r.dropped.Add(float64(n)) }
