package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Webhooks measures the delivery of events.
type Webhooks struct {
	accepted, failed prometheus.Counter
	delays           prometheus.Histogram
}

func newWebhooks(registry *prometheus.Registry) *Webhooks {
	attempts := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "sv_webhook_attempts_total", Help: "Requests to webhooks, by whether the event was accepted.",
	}, []string{"outcome"})
	w := &Webhooks{
		accepted: attempts.WithLabelValues("accepted"), failed: attempts.WithLabelValues("failed"),
		delays: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "sv_webhook_delay_seconds", Help: "How long after an event its first request to a webhook began.",
			Buckets: []float64{.05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1800},
		}),
	}
	registry.MustRegister(attempts, w.delays)
	return w
}

// Attempted counts an attempt. Where it is the first of an event, its delay is measured; two clocks are compared, so it
// may seem to be negative.
func (w *Webhooks) Attempted(accepted, first bool, delay time.Duration) {
	if accepted {
		w.accepted.Inc()
	} else {
		w.failed.Inc()
	}
	if first {
		w.delays.Observe(max(delay, 0).Seconds())
	}
}
