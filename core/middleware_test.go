package core_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
)

// serve answers one request through middleware and returns what was logged.
func serve(tb testing.TB, request *http.Request, handler echo.HandlerFunc) (*httptest.ResponseRecorder, string) {
	tb.Helper()
	var lines bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&lines, nil))
	e := echo.New()
	e.HTTPErrorHandler = core.HandleError(log, core.WriteProblem)
	describe := func(echo.Context) []slog.Attr { return nil }
	e.Use(core.RequestIDs(), core.Observe(core.AccessLog(log, describe)), core.Recover(log), core.WellFormed)
	e.GET("/thing/:id/", handler)
	e.GET("/livez/", handler)
	recorder := httptest.NewRecorder()
	e.ServeHTTP(recorder, request)
	return recorder, lines.String()
}

func get(tb testing.TB, target string) *http.Request {
	tb.Helper()
	return httptest.NewRequestWithContext(tb.Context(), http.MethodGet, target, http.NoBody)
}

func ok(c echo.Context) error {
	return c.String(http.StatusOK, core.RequestID(c.Request().Context()))
}

func TestRequestIDs(t *testing.T) {
	t.Parallel()

	t.Run("KeepAWellFormedOne", func(t *testing.T) {
		t.Parallel()
		request := get(t, "/thing/1/")
		request.Header.Set(core.HeaderRequestID, "Mine-1.2_3")
		answer, _ := serve(t, request, ok)
		if got := answer.Header().Get(core.HeaderRequestID); got != "Mine-1.2_3" || answer.Body.String() != got {
			t.Errorf("Request-Id = %q, in the context %q, want Mine-1.2_3", got, answer.Body)
		}
	})

	for name, sent := range map[string]string{
		"None": "", "Long": strings.Repeat("a", 129), "Space": "a b", "Newline": "a\nb", "NotUTF8": "\xff",
		"Tail": "a\n", "NotASCII": "ä", "Quote": `a"b`,
	} {
		t.Run("Replace"+name, func(t *testing.T) {
			t.Parallel()
			request := get(t, "/thing/1/")
			request.Header[core.HeaderRequestID] = []string{sent}
			answer, _ := serve(t, request, ok)
			id, err := uuid.Parse(answer.Header().Get(core.HeaderRequestID))
			if err != nil || id.Version() != 7 {
				t.Errorf("Request-Id = %q, want a fresh UUIDv7", answer.Header().Get(core.HeaderRequestID))
			}
		})
	}
}

func TestRecover(t *testing.T) {
	t.Parallel()

	t.Run("AnswersAndLogsThePanic", func(t *testing.T) {
		t.Parallel()
		answer, lines := serve(t, get(t, "/thing/1/"), func(echo.Context) error { panic("inside") })
		if answer.Code != http.StatusInternalServerError || strings.Contains(answer.Body.String(), "inside") {
			t.Errorf("answer = %d %s, want 500 without the reason", answer.Code, answer.Body)
		}
		if !strings.Contains(lines, "inside") || !strings.Contains(lines, "middleware_test.go") {
			t.Errorf("log = %s, want the reason and where it was", lines)
		}
	})

	t.Run("LetsAnAbortThrough", func(t *testing.T) {
		t.Parallel()
		defer func() {
			reason, isError := recover().(error)
			if !isError || !errors.Is(reason, http.ErrAbortHandler) {
				t.Errorf("recovered = %v, want %v", reason, http.ErrAbortHandler)
			}
		}()
		serve(t, get(t, "/thing/1/"), func(echo.Context) error { panic(http.ErrAbortHandler) })
	})
}

func TestAccessLog(t *testing.T) {
	t.Parallel()

	t.Run("HasOneLineWithTheFinalStatus", func(t *testing.T) {
		t.Parallel()
		request := get(t, "/thing/secret-id/?token=secret-query")
		request.Header.Set("Authorization", "Bearer secret-token")
		request.Header.Set("Idempotency-Key", "secret-key")
		request.Header.Set(core.HeaderRequestID, "r1")
		_, lines := serve(t, request, func(echo.Context) error { return core.NotFound("thing") })
		var line struct {
			Method    string `json:"method"`
			Route     string `json:"route"`
			Status    int    `json:"status"`
			Code      string `json:"code"`
			RequestID string `json:"request_id"`
		}
		if err := json.Unmarshal([]byte(lines), &line); err != nil {
			t.Fatalf("log = %s: %v", lines, err)
		}
		if line.Method != http.MethodGet || line.Route != "/thing/:id/" || line.Status != http.StatusNotFound ||
			line.Code != "not_found" || line.RequestID != "r1" {
			t.Errorf("line = %+v, want that of the answer", line)
		}
		if strings.Contains(lines, "secret") {
			t.Errorf("log = %s, want nothing that the client sent but its request id", lines)
		}
	})

	t.Run("LeavesProbesOut", func(t *testing.T) {
		t.Parallel()
		if _, lines := serve(t, get(t, "/livez/"), ok); lines != "" {
			t.Errorf("log = %s, want nothing", lines)
		}
	})
}

func TestWellFormed(t *testing.T) {
	t.Parallel()
	for target, want := range map[string]int{
		"/thing/%C3%A4/?a=%C3%A4&b=": http.StatusOK,
		"/thing/%00/":                http.StatusNotFound,
		"/thing/%ff/":                http.StatusNotFound,
		"/thing/1/?a=%00":            http.StatusBadRequest,
		"/thing/1/?a=x&a=%ff":        http.StatusBadRequest,
		"/thing/1/?%00=1":            http.StatusBadRequest,
		"/thing/1/?a=%zz":            http.StatusBadRequest,
		"/thing/1/?a=1;b=2":          http.StatusBadRequest,
	} {
		answer, _ := serve(t, get(t, target), ok)
		if answer.Code != want {
			t.Errorf("%s = %d, want %d", target, answer.Code, want)
		}
	}
	for size, want := range map[int]int{
		30_000: http.StatusOK, 40_000: http.StatusRequestHeaderFieldsTooLarge,
	} {
		request := get(t, "/thing/1/")
		request.Header.Set("X-Large", strings.Repeat("x", size))
		if answer, _ := serve(t, request, ok); answer.Code != want {
			t.Errorf("a header of %d bytes = %d, want %d", size, answer.Code, want)
		}
	}
}
