package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Starts measures the commits that starts share.
type Starts struct {
	sizes     prometheus.Histogram
	durations prometheus.Histogram
	registry  *prometheus.Registry
}

func newStarts(registry *prometheus.Registry) *Starts {
	s := &Starts{
		sizes: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "sv_start_group_size", Help: "How many starts shared a commit.",
			Buckets: []float64{1, 2, 4, 8, 16, 32, 64, 128, 256},
		}),
		durations: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "sv_start_commit_duration_seconds", Help: "How long the commits of starts took.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}),
		registry: registry,
	}
	registry.MustRegister(s.sizes, s.durations)
	return s
}

// Committed measures a commit of so many starts, whether it was successful or not.
func (s *Starts) Committed(starts int, took time.Duration) {
	s.sizes.Observe(float64(starts))
	s.durations.Observe(took.Seconds())
}

// Queue tells where to read how many starts wait for their commit. Call it once.
func (s *Starts) Queue(waiting func() int) {
	s.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "sv_start_queue", Help: "Starts that wait for their commit.",
	}, func() float64 { return float64(waiting()) }))
}
