package idempotency_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/core/metrics"
)

// once sends a request to a protected route whose work ends with the error, without a key if key is "".
func once(t *testing.T, database *db.DB, key string, failure error) error {
	t.Helper()
	guard := idempotency.NewGuard(database, time.Hour, nil, discard{}, metrics.New("").Keys)
	request := httptest.NewRequest(http.MethodPost, "/", http.NoBody)
	if key != "" {
		request.Header.Set(idempotency.Header, key)
	}
	ctx := core.WithPrincipal(t.Context(), core.Principal{OrgID: uuid.New(), Role: api.RoleOwner})
	view := idempotency.ReadKey(guard.Keyed(func(c echo.Context) error {
		operation := idempotency.Operation{Endpoint: endpoint}
		return guard.Once(c, operation, func(context.Context, db.GormTx) (idempotency.Response, error) {
			return idempotency.Response{}, failure
		})
	}))
	return view(echo.New().NewContext(request.WithContext(ctx), httptest.NewRecorder()))
}

func TestOnceReportsAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	database := setup(t)
	for name, tt := range map[string]struct {
		key       string
		retryable bool
	}{
		"WithAKey":    {"k1", true},
		"WithoutAKey": {"", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := once(t, database, tt.key, fmt.Errorf("commit: %w", db.ErrOutcomeUnknown))
			clientErr, ok := errors.AsType[*core.Error](err)
			if !ok || clientErr.Code != api.CodeOutcomeUnknown {
				t.Fatalf("Once = %v, want %s", err, api.CodeOutcomeUnknown)
			}
			if clientErr.Retryable != tt.retryable || clientErr.RetryAfter <= 0 {
				t.Errorf("error = retryable %t after %v, want retryable %t and a time to wait",
					clientErr.Retryable, clientErr.RetryAfter, tt.retryable)
			}
			if !errors.Is(err, db.ErrOutcomeUnknown) {
				t.Error("the cause is lost")
			}
		})
	}
}

func TestOnceSeparatesContentionFromFaults(t *testing.T) {
	t.Parallel()
	database := setup(t)
	for code, want := range map[string]api.Code{
		"40001": api.CodeUnavailable, "40P01": api.CodeUnavailable, "55P03": api.CodeUnavailable,
		"42601": api.CodeInternalError,
	} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			for _, key := range []string{"", "k" + code} {
				err := once(t, database, key, fmt.Errorf("work: %w", &pgconn.PgError{Code: code}))
				if got := core.AsError(err).Code; got != want {
					t.Errorf("with key %q: code = %s, want %s", key, got, want)
				}
			}
		})
	}
}
