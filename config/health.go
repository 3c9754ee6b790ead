package config

import (
	"context"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/migrations"
)

// readyTimeout bounds what a probe waits for the database and for Redis.
const readyTimeout = 2 * time.Second

// readyBody says whether the process can do its work. Redis is "degraded" rather than down when it is
// missing: starts need only the database, and what they stage is queued when Redis is back.
type readyBody struct {
	Status string `json:"status"`
	// Version is the release of this process; during an upgrade others have another one.
	Version  string `json:"version"`
	Database string `json:"database"`
	Redis    string `json:"redis"`
}

func registerHealth(e *echo.Echo, project *Project) {
	e.GET("/livez/", func(c echo.Context) error {
		return c.JSON(http.StatusOK, struct {
			Status string `json:"status"`
		}{"ok"})
	})
	e.GET("/readyz/", project.ready)
}

func (p *Project) ready(c echo.Context) error {
	ctx, cancel := context.WithTimeout(c.Request().Context(), readyTimeout)
	defer cancel()
	redisCtx, redisCancel := context.WithTimeout(c.Request().Context(), readyTimeout)
	defer redisCancel()
	redisState := make(chan error, 1)
	go func() { redisState <- p.redis.Ping(redisCtx).Err() }()
	body := readyBody{Status: "ok", Version: p.version, Database: "ok", Redis: "ok"}
	if pending, err := migrations.Pending(ctx, p.db.SQL); err != nil {
		body.Status, body.Database = "unavailable", "unreachable"
	} else if pending {
		body.Status, body.Database = "unavailable", "migrations pending"
	}
	if err := <-redisState; err != nil {
		body.Redis = "degraded"
	}
	status := http.StatusOK
	if body.Status != "ok" {
		status = http.StatusServiceUnavailable
	}
	return c.JSON(status, body)
}
