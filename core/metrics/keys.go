package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Outcome is the result of a request on a route that takes idempotency keys.
type Outcome string

// The outcomes.
const (
	// OutcomeNew did its work under its key.
	OutcomeNew Outcome = "new"
	// OutcomeReplayed got the answer of the key's first request.
	OutcomeReplayed Outcome = "replayed"
	// OutcomeResumed went on where the key's first request had stopped.
	OutcomeResumed Outcome = "resumed"
	// OutcomeInProgress met another request with its key.
	OutcomeInProgress Outcome = "in_progress"
	// OutcomeMismatch came with the key of another request.
	OutcomeMismatch Outcome = "mismatch"
	// OutcomeAbsent had no key, whatever came of it.
	OutcomeAbsent Outcome = "absent"
	// OutcomeInvalid had a key that is none.
	OutcomeInvalid Outcome = "invalid"
	// OutcomeRefused had a key and was refused for another reason, so nothing is remembered.
	OutcomeRefused Outcome = "refused"
)

// Rescuer is what takes an abandoned key over.
type Rescuer string

// The rescuers.
const (
	RescuerRetry     Rescuer = "retry"
	RescuerCompleter Rescuer = "completer"
)

// Keys measures what is done with idempotency keys.
type Keys struct {
	requests  map[Outcome]prometheus.Counter
	phases    *prometheus.HistogramVec
	takeovers map[Rescuer]prometheus.Counter
}

func newKeys(registry *prometheus.Registry) *Keys {
	requests := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "sv_idempotency_requests_total", Help: "Requests on routes that take idempotency keys, by what they met.",
	}, []string{"outcome"})
	takeovers := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "sv_idempotency_takeovers_total", Help: "Abandoned keys that a retry or the completer took over.",
	}, []string{"by"})
	k := &Keys{
		requests: resolved(requests, OutcomeNew, OutcomeReplayed, OutcomeResumed, OutcomeInProgress,
			OutcomeMismatch, OutcomeAbsent, OutcomeInvalid, OutcomeRefused),
		phases: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "sv_idempotency_phase_duration_seconds",
			Help:    "How long the phases of requests of several phases took, by the recovery point they began from.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"phase"}),
		takeovers: resolved(takeovers, RescuerRetry, RescuerCompleter),
	}
	registry.MustRegister(requests, takeovers, k.phases)
	return k
}

// Request counts a request by its outcome.
func (k *Keys) Request(outcome Outcome) {
	k.requests[outcome].Inc()
}

// Phase measures a phase that has ended, whether it was successful or not.
func (k *Keys) Phase(from string, took time.Duration) {
	k.phases.WithLabelValues(from).Observe(took.Seconds())
}

// TakenOver counts keys that were taken over.
func (k *Keys) TakenOver(by Rescuer, keys int) {
	k.takeovers[by].Add(float64(keys))
}

// resolved looks the counters of all values up beforehand. They begin with 0, so the first count is seen as a rise.
func resolved[T ~string](vector *prometheus.CounterVec, values ...T) map[T]prometheus.Counter {
	counters := make(map[T]prometheus.Counter, len(values))
	for _, value := range values {
		counters[value] = vector.WithLabelValues(string(value))
	}
	return counters
}
