package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Runs measures the execution of runs.
type Runs struct {
	ended     *prometheus.CounterVec
	waits     prometheus.Histogram
	durations prometheus.Histogram
	errors    prometheus.Counter
	warnings  prometheus.Counter
	infos     prometheus.Counter
}

func newRuns(registry *prometheus.Registry) *Runs {
	findings := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "sv_findings_total", Help: "What steps have found, with what is not listed one by one.",
	}, []string{"severity"})
	r := &Runs{
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sv_runs_total", Help: "Runs that have ended, by their result.",
		}, []string{"result"}),
		waits: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "sv_run_queue_wait_seconds", Help: "How long runs waited between their start and their first step.",
			Buckets: []float64{.01, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1800},
		}),
		durations: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "sv_run_duration_seconds", Help: "How long runs took from their first step to their end.",
			Buckets: []float64{.01, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1800},
		}),
		errors: findings.WithLabelValues("ERROR"), warnings: findings.WithLabelValues("WARNING"),
		infos: findings.WithLabelValues("INFO"),
	}
	for _, result := range []string{"PASS", "FAIL", "ERROR", "CANCELED", "TIMED_OUT"} {
		r.ended.WithLabelValues(result)
	}
	registry.MustRegister(r.ended, r.waits, r.durations, findings)
	return r
}

// Began measures the wait of a run whose first step begins. Two clocks are compared, so it may seem to be negative.
func (r *Runs) Began(waited time.Duration) {
	r.waits.Observe(max(waited, 0).Seconds())
}

// Ended counts a run by its result and measures how long it was executed.
func (r *Runs) Ended(result string, took time.Duration) {
	r.ended.WithLabelValues(result).Inc()
	r.durations.Observe(took.Seconds())
}

// Canceled counts a run that a member has canceled.
func (r *Runs) Canceled() {
	r.ended.WithLabelValues("CANCELED").Inc()
}

// Found counts the findings of a step.
func (r *Runs) Found(errors, warnings, infos int) {
	r.errors.Add(float64(errors))
	r.warnings.Add(float64(warnings))
	r.infos.Add(float64(infos))
}
