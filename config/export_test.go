package config

import (
	"context"
	"net/http"

	"github.com/simplevalidations/simplevalidations/core/metrics"
)

// Headroom is what the served process keeps free of garbage collections.
const Headroom = headroom

// Measured collects what a scrape of the process tells, and returns what it has measured and what answers the scrape.
func (p *Project) Measured(ctx context.Context) (*metrics.Metrics, http.Handler, error) {
	figures, err := p.collect()
	if err != nil {
		return nil, nil, err
	}
	handler := newMetricsRouter(p) //nolint:contextcheck // a handler has the context of its request
	return p.metrics, handler, figures.Refresh(ctx)
}

// WithSecretKey returns the settings with the key of the data folder.
func (s Settings) WithSecretKey() (Settings, error) { return s.withSecretKey() }
