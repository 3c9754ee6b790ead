package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// StartBounds are the upper bounds of the buckets for the duration of starts, each included. The database has counts
// for each of them.
func StartBounds() []time.Duration {
	return []time.Duration{
		time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond,
		10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond,
		100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond,
		time.Second, 2500 * time.Millisecond, 5 * time.Second, 10 * time.Second,
	}
}

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
			Buckets: inSeconds(StartBounds()),
		}),
		registry: registry,
	}
	registry.MustRegister(s.sizes, s.durations)
	return s
}

func inSeconds(bounds []time.Duration) []float64 {
	seconds := make([]float64, len(bounds))
	for i, bound := range bounds {
		seconds[i] = bound.Seconds()
	}
	return seconds
}

// Committed measures a commit of so many starts, whether it was successful or not.
func (s *Starts) Committed(starts int, took time.Duration) {
	s.sizes.Observe(float64(starts))
	s.durations.Observe(took.Seconds())
}

// Queue sets the function that returns how many starts wait for their commit. Call it once.
func (s *Starts) Queue(waiting func() int) {
	s.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "sv_start_queue", Help: "Starts that wait for their commit.",
	}, func() float64 { return float64(waiting()) }))
}
