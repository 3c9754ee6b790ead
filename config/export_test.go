package config

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/labstack/echo/v4"
	"github.com/redis/go-redis/v9"

	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/embedded"
	"github.com/simplevalidations/simplevalidations/core/metrics"
)

// Headroom is what the served process keeps free of garbage collections.
const Headroom = mostHeadroom

// Measured collects what a scrape of the process tells, and returns what it has measured and what answers the scrape.
func (p *Project) Measured(ctx context.Context) (*metrics.Metrics, http.Handler, error) {
	figures, err := p.collect(allRoles())
	if err != nil {
		return nil, nil, err
	}
	handler := newMetricsRouter(p) //nolint:contextcheck // a handler has the context of its request
	return p.metrics, handler, figures.Refresh(ctx)
}

// Enqueue hands staged jobs to the queue once, as the loop of a worker does.
func (p *Project) Enqueue(ctx context.Context, client redis.UniversalClient) (int, error) {
	for _, loop := range p.loops(roles{roleWorker}, client) {
		if loop.Name == loopEnqueuer {
			return loop.RunOnce(ctx)
		}
	}
	return 0, errors.New("a worker has no enqueuer")
}

// FlushTraces sends the spans that have ended.
func (p *Project) FlushTraces(ctx context.Context) error { return p.tracer.Flush(ctx) }

// WithSecretKey returns the settings with the key of the data folder.
func (s Settings) WithSecretKey() (Settings, error) { return s.withSecretKey() }

// MemoryBesides returns what a container of that memory leaves to a process with so many connections to a database.
func MemoryBesides(
	ctx context.Context, container uint64, database *db.DB, conns int32, isPrivate bool,
) (uint64, error) {
	b := &backend{db: database}
	if isPrivate {
		b.private = &embedded.Postgres{}
	}
	reserved, err := b.reservedMemory(ctx, conns)
	if err != nil {
		return 0, err
	}
	return besides(reserved, memlimit.Limit(container))()
}

// Stopping returns the handler of the project in a process that has been asked to stop.
func Stopping(p *Project, router http.Handler) http.Handler {
	asked := make(chan struct{})
	close(asked)
	p.stopping = asked
	return p.retireConnections(router)
}

// CloseToNew has a listener take no new connections.
func CloseToNew(listener net.Listener) error { return closeToNew(listener) }

// TenantTables are the tables that the deletion of an organization empties in batches.
func TenantTables() []string {
	return db.Column(tenantTables(), func(t *tenantTable) string { return t.name })
}

// AllTenantTables are all tables that the deletion of an organization empties, by name.
func AllTenantTables() []string {
	return slices.Sorted(slices.Values(append(TenantTables(), smallTenantTables()...)))
}

// PurgeTenants deletes what was written of organizations after their deletion.
func PurgeTenants(ctx context.Context, database *db.DB) (int64, error) {
	return purgeTenants(ctx, database)
}

// HeadroomWithin is what the served process keeps free of garbage collections under a limit of its memory.
func HeadroomWithin(limit int64) int64 { return headroomWithin(limit) }

// KnownParameters is the middleware that refuses parameters that are not in the OpenAPI document.
func KnownParameters(next echo.HandlerFunc) echo.HandlerFunc { return knownParameters(next) }
