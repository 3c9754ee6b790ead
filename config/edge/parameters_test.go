package edge_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/config/edge"
	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
)

func TestKnownParameters(t *testing.T) {
	t.Parallel()

	e := echo.New()
	e.HTTPErrorHandler = core.HandleError(fixture.Discard(), core.WriteProblem)
	e.Use(edge.KnownParameters)
	answered := func(c echo.Context) error { return c.NoContent(http.StatusNoContent) }
	e.GET("/api/runs/", answered)
	e.HEAD("/api/runs/", answered)
	e.GET("/api/me/", answered)
	e.POST("/api/workflows/:id/start/", answered)
	e.POST("/api/v1/orgs/:org/workflows/:id/runs/", answered)
	for name, tt := range map[string]struct{ method, address, want string }{
		"Known": {http.MethodGet, "/api/runs/?q=semi&result=FAIL&page_size=2", ""},
		"Misspelt": {
			http.MethodGet, "/api/runs/?reslt=FAIL", "reslt is not a parameter of this address. Did you mean result?",
		},
		"InOtherCase": {
			http.MethodGet, "/api/runs/?Result=FAIL", "Result is not a parameter of this address. Did you mean result?",
		},
		"Other": {
			http.MethodGet, "/api/runs/?search=semi",
			"search is not a parameter of this address. It takes state, result, " +
				"source, workflow, q, idempotency_key, since, until, page_size, cursor.",
		},
		"NoneAtAll":   {http.MethodGet, "/api/me/?limit=2", "limit is not a parameter of this address. It takes none."},
		"WithoutName": {http.MethodGet, "/api/me/?=2", " is not a parameter of this address. It takes none."},
		"Twice":       {http.MethodGet, "/api/runs/?result=PASS&result=FAIL", "result is given more than once."},
		"Start": {
			http.MethodPost, "/api/workflows/a/start/?verson=1",
			"verson is not a parameter of this address. Did you mean version?",
		},
		"HeaderInTheQuery": {
			http.MethodPost, "/api/workflows/a/start/?idempotencyKey=k",
			"idempotencyKey is not a parameter of this address. Did you mean the header Idempotency-Key?",
		},
		"ExistingClient": {http.MethodPost, "/api/v1/orgs/a/workflows/b/runs/?project=a&version=1&later=2", ""},
		"ExistingClientTwice": {
			http.MethodPost, "/api/v1/orgs/a/workflows/b/runs/?version=1&version=2", "version is given more than once.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer := httptest.NewRecorder()
			e.ServeHTTP(answer, httptest.NewRequest(tt.method, tt.address, http.NoBody))
			var got api.Problem
			if answer.Body.Len() > 0 {
				if err := json.Unmarshal(answer.Body.Bytes(), &got); err != nil {
					t.Fatal(err)
				}
			}
			if got.Detail != tt.want || (answer.Code == http.StatusNoContent) != (tt.want == "") {
				t.Errorf("answer = %d %q, want %q", answer.Code, got.Detail, tt.want)
			}
		})
	}
	t.Run("Head", func(t *testing.T) {
		t.Parallel()
		answer := httptest.NewRecorder()
		e.ServeHTTP(answer, httptest.NewRequest(http.MethodHead, "/api/runs/?reslt=FAIL", http.NoBody))
		if answer.Code != http.StatusBadRequest {
			t.Errorf("status = %d, want 400", answer.Code)
		}
	})
}
