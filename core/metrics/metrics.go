// Package metrics measures what the service does, in the form that Prometheus reads. It holds the instruments, which
// are passed to the constructors of the code that does the work, and the collectors, which read their values at each
// scrape.
//
// No label names an organization, a key or anything else that clients can create. A process has its own registry:
// nothing is measured globally.
package metrics

import (
	"net/http"
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics is everything that a process measures.
type Metrics struct {
	HTTP   *HTTP
	Keys   *Keys
	Starts *Starts
	Runs   *Runs
	Purges *Purges
	// Requests measures the log of requests.
	Requests *Requests
	Webhooks *Webhooks

	registry *prometheus.Registry
	version  string
}

// New makes the instruments of a process of the version.
func New(version string) *Metrics {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return &Metrics{
		HTTP: newHTTP(registry), Keys: newKeys(registry), Starts: newStarts(registry), Runs: newRuns(registry),
		Purges: newPurges(registry), Requests: newRequests(registry), Webhooks: newWebhooks(registry),
		registry: registry, version: version,
	}
}

// Build collects the release of the process and its role.
func (m *Metrics) Build(role string) *prometheus.GaugeVec {
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "sv_build_info", Help: "Always 1; the labels name the release, the Go that built it, and the role.",
	}, []string{"version", "go_version", "role"})
	build.WithLabelValues(m.version, runtime.Version(), role).Set(1)
	return build
}

// Registry has everything that is measured; collectors of what is only read are added to it.
func (m *Metrics) Registry() *prometheus.Registry {
	return m.registry
}

// Handler answers with everything that is measured. What cannot be collected is left out.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
}
