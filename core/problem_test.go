package core_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/db"
)

// handle renders an error as the answer to a request.
func handle(tb testing.TB, method string, err error) *httptest.ResponseRecorder {
	tb.Helper()
	ctx := core.WithRequestID(tb.Context(), "req")
	recorder := httptest.NewRecorder()
	c := echo.New().NewContext(httptest.NewRequestWithContext(ctx, method, "/", http.NoBody), recorder)
	core.HandleError(slog.New(slog.DiscardHandler), core.WriteProblem)(err, c)
	return recorder
}

func TestHandleErrorTranslates(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		err       error
		code      api.Code
		retryable bool
	}{
		{"OwnErrors", core.NotFound("run"), api.CodeNotFound, false},
		{"WrappedOwnErrors", fmt.Errorf("read: %w", core.RateLimited("Slow.", 0)), api.CodeRateLimited, true},
		{"UnknownAddresses", echo.ErrNotFound, api.CodeNotFound, false},
		{"WrongMethods", echo.ErrMethodNotAllowed, api.CodeMethodNotAllowed, false},
		{"LargeBodies", echo.ErrStatusRequestEntityTooLarge, api.CodePayloadTooLarge, false},
		{"WrongTypes", echo.ErrUnsupportedMediaType, api.CodeUnsupportedMediaType, false},
		{"BadRequests", echo.ErrBadRequest, api.CodeInvalidPayload, false},
		{"OtherStatuses", echo.NewHTTPError(http.StatusTeapot), api.CodeInternalError, false},
		{"UnknownOutcomes", fmt.Errorf("save: %w", db.ErrOutcomeUnknown), api.CodeOutcomeUnknown, false},
		{"LostConnections", &pgconn.ConnectError{}, api.CodeUnavailable, true},
		{"Deadlines", fmt.Errorf("read: %w", context.DeadlineExceeded), api.CodeUnavailable, true},
		{"Networks", &net.OpError{Op: "read", Err: errors.New("reset")}, api.CodeUnavailable, true},
		{"LockTimeouts", &pgconn.PgError{Code: "55P03"}, api.CodeUnavailable, true},
		{"FullDisks", &pgconn.PgError{Code: "53100"}, api.CodeUnavailable, true},
		{"Shutdowns", &pgconn.PgError{Code: "57P01"}, api.CodeUnavailable, true},
		{"Standbys", &pgconn.PgError{Code: "25006"}, api.CodeUnavailable, true},
		{"BrokenConstraints", &pgconn.PgError{Code: "23505"}, api.CodeInternalError, false},
		{"WrongStatements", &pgconn.PgError{Code: "42601"}, api.CodeInternalError, false},
		{"EverythingElse", errors.New("password=secret"), api.CodeInternalError, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			answer := handle(t, http.MethodGet, tt.err)
			var problem api.Problem
			if err := json.Unmarshal(answer.Body.Bytes(), &problem); err != nil {
				t.Fatal(err)
			}
			if problem.Code != tt.code || answer.Code != core.Spec(tt.code).Status ||
				problem.Retryable != tt.retryable {
				t.Errorf("answer = %d %s, retryable %t, want %d %s, %t", answer.Code, problem.Code, problem.Retryable,
					core.Spec(tt.code).Status, tt.code, tt.retryable)
			}
			if problem.RequestID != "req" || answer.Header().Get("Content-Type") != core.ProblemType {
				t.Errorf("problem = %s with %v", answer.Body, answer.Header())
			}
			if strings.Contains(answer.Body.String(), "secret") {
				t.Errorf("the cause is shown: %s", answer.Body)
			}
		})
	}
}

func TestHandleErrorWritesEveryMember(t *testing.T) {
	t.Parallel()
	err := core.InvalidPayload("Detail.", api.FieldError{Pointer: "/a", Code: "c", Detail: "d"})
	err.RunID, err.Differs, err.OriginalRequestID = "run", []string{"content"}, "first"
	err.RetryAfter = 1500 * time.Millisecond
	answer := handle(t, http.MethodPost, err)
	want := `{"type":"/docs/errors/invalid_payload/","title":"Invalid request body","status":400,"detail":"Detail.",` +
		`"code":"invalid_payload","request_id":"req","retryable":false,"run_id":"run","differs":["content"],` +
		`"original_request_id":"first","errors":[{"pointer":"/a","code":"c","detail":"d"}]}`
	if diff := cmp.Diff(want, answer.Body.String()); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
	wantHeader := http.Header{
		"Cache-Control": {"no-store"}, "Content-Type": {core.ProblemType}, "Retry-After": {"2"},
	}
	if diff := cmp.Diff(wantHeader, answer.Header()); diff != "" {
		t.Errorf("header (-want +got):\n%s", diff)
	}
}

func TestHandleErrorHasSpecialAnswers(t *testing.T) {
	t.Parallel()

	t.Run("AChallengeForStrangers", func(t *testing.T) {
		t.Parallel()
		answer := handle(t, http.MethodGet, core.NewError(api.CodeNotAuthenticated, "Who?"))
		if got := answer.Header().Get("WWW-Authenticate"); got != "Bearer" {
			t.Errorf("WWW-Authenticate = %q, want Bearer", got)
		}
	})

	t.Run("NoBodyForHead", func(t *testing.T) {
		t.Parallel()
		answer := handle(t, http.MethodHead, core.NotFound("run"))
		if answer.Code != http.StatusNotFound || answer.Body.Len() != 0 {
			t.Errorf("answer = %d %q, want 404 without a body", answer.Code, answer.Body)
		}
	})

	t.Run("NoWarningOfAClientThatLeavesAStream", func(t *testing.T) {
		t.Parallel()
		for name, left := range map[string]bool{"left": true, "stayed": false} {
			var logged bytes.Buffer
			ctx, leave := context.WithCancel(t.Context())
			request := httptest.NewRequestWithContext(ctx, http.MethodGet, "/", http.NoBody)
			c := echo.New().NewContext(request, httptest.NewRecorder())
			if err := c.String(http.StatusOK, "begun"); err != nil {
				t.Fatal(err)
			}
			if left {
				leave()
			}
			log := slog.New(slog.NewTextHandler(&logged, nil))
			core.HandleError(log, core.WriteProblem)(errors.New("write failed"), c)
			leave()
			if quiet := logged.Len() == 0; quiet != left {
				t.Errorf("the client has %s: log = %q", name, logged.String())
			}
		}
	})

	t.Run("NothingBehindAnAnswerThatHasBegun", func(t *testing.T) {
		t.Parallel()
		recorder := httptest.NewRecorder()
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
		c := echo.New().NewContext(request, recorder)
		if err := c.String(http.StatusOK, "begun"); err != nil {
			t.Fatal(err)
		}
		core.HandleError(slog.New(slog.DiscardHandler), core.WriteProblem)(core.NotFound("run"), c)
		if recorder.Code != http.StatusOK || recorder.Body.String() != "begun" {
			t.Errorf("answer = %d %q, want the one that had begun", recorder.Code, recorder.Body)
		}
	})
}

func TestCodes(t *testing.T) {
	t.Parallel()
	seen := map[api.Code]bool{}
	for _, spec := range core.Codes() {
		if seen[spec.Code] || spec.Title == "" || http.StatusText(spec.Status) == "" || spec.Status < 400 {
			t.Errorf("spec = %+v, want one of each code with a title and a status of an error", spec)
		}
		seen[spec.Code] = true
		if core.Spec(spec.Code) != spec {
			t.Errorf("Spec of %s = %+v, want %+v", spec.Code, core.Spec(spec.Code), spec)
		}
	}
	if got := core.Spec(api.Code("unheard")).Code; got != api.CodeInternalError {
		t.Errorf("spec of an unknown code = %s, want %s", got, api.CodeInternalError)
	}
}

func TestErrorsCompareByCode(t *testing.T) {
	t.Parallel()
	cause := errors.New("cause")
	err := fmt.Errorf("wrapped: %w", core.Unavailable(cause))
	if !errors.Is(err, api.CodeUnavailable) || errors.Is(err, api.CodeNotFound) {
		t.Error("an error is not told by its code")
	}
	if !errors.Is(err, cause) || !strings.Contains(err.Error(), "cause") {
		t.Errorf("error = %v, want its cause for the log", err)
	}
	for wait, want := range map[time.Duration]time.Duration{0: time.Second, time.Minute: time.Minute} {
		if got := core.RateLimited("Slow.", wait).RetryAfter; got != want {
			t.Errorf("RetryAfter = %s, want %s", got, want)
		}
	}
}
