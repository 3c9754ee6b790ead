package web

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
)

// refusing is a limiter that allows nothing.
type refusing struct{}

// Allow refuses.
func (refusing) Allow(context.Context, uuid.UUID) core.Allowance {
	return core.Allowance{Wait: time.Minute}
}

func TestCallbacksAreLimited(t *testing.T) {
	t.Parallel()
	router := echo.New()
	router.HTTPErrorHandler = core.HandleError(slog.New(slog.DiscardHandler), core.WriteProblem)
	// No executor is needed: a refused callback does nothing.
	(&App{Deps: Deps{Callbacks: refusing{}}}).Routes(core.NewRoutes(router.Group("/api")))
	answer := httptest.NewRecorder()
	request := httptest.NewRequest(http.MethodPost, "/api/callbacks/"+uuid.NewString()+"/", http.NoBody)
	router.ServeHTTP(answer, request)
	if answer.Code != http.StatusTooManyRequests || answer.Header().Get(echo.HeaderRetryAfter) != "60" {
		t.Errorf("answer = %d, Retry-After %q, want 429 and 60", answer.Code,
			answer.Header().Get(echo.HeaderRetryAfter))
	}
}
