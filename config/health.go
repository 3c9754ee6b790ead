package config

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/migrations"
	"github.com/simplevalidations/simplevalidations/tasks"
)

const (
	// readyTimeout bounds what a probe waits for the database and for Redis.
	readyTimeout = 2 * time.Second
	// probeLife is how long the state of the database is reported before it is read again. Probes need no token, so
	// anybody may send many.
	probeLife = time.Second
)

func registerHealth(e *echo.Echo, project *Project) {
	e.GET("/livez/", func(c echo.Context) error {
		return c.JSON(http.StatusOK, struct {
			Status string `json:"status"`
		}{"ok"})
	})
	e.GET("/readyz/", project.ready)
}

func (p *Project) ready(c echo.Context) error {
	ctx := c.Request().Context()
	redisCtx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	redisState := make(chan error, 1)
	go func() { redisState <- tasks.CheckWritable(redisCtx, p.redis) }()
	body := api.Readiness{Status: "ok", Version: p.version, Database: p.probe.read(ctx, p.db), Redis: "ok"}
	if body.Database != "ok" {
		body.Status = "unavailable"
	}
	if p.isStopping() {
		body.Status = "stopping"
	}
	// Starts need the database alone, and what they stage is queued when Redis is back.
	if err := <-redisState; err != nil {
		body.Redis = "degraded"
	}
	status := http.StatusOK
	if body.Status != "ok" {
		status = http.StatusServiceUnavailable
	}
	return c.JSON(status, body)
}

// databaseProbe looks at the database for all probes of a moment once.
type databaseProbe struct {
	mu    sync.Mutex
	at    time.Time
	state string
}

// read returns what /readyz/ says of the database. It is "ok" if starts can be committed.
func (d *databaseProbe) read(ctx context.Context, database *db.DB) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if time.Since(d.at) < probeLife {
		return d.state
	}
	// Other probes wait for this one, which must not end with its client.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyTimeout)
	defer cancel()
	d.state, d.at = stateOf(ctx, database), time.Now()
	return d.state
}

func stateOf(ctx context.Context, database *db.DB) string {
	switch err := database.CheckWritable(ctx); {
	case errors.Is(err, db.ErrReadOnly):
		return "read-only"
	case errors.Is(err, db.ErrFull):
		return "full"
	case err != nil:
		return "unreachable"
	}
	switch pending, err := migrations.Pending(ctx, database.SQL); {
	case err != nil:
		return "unreachable"
	case len(pending) > 0:
		return "migrations pending"
	default:
		return "ok"
	}
}
