package config_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/config"
	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
)

func TestStoppingProcessAnswersAndSendsClientsAway(t *testing.T) {
	t.Parallel()
	s := fixture.Setup(t)
	handler := config.Stopping(s.Project, s.Router)
	ask := func(path string) *httptest.ResponseRecorder {
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, http.NoBody))
		return answer
	}
	probe := ask("/readyz/")
	if probe.Code != http.StatusServiceUnavailable || !strings.Contains(probe.Body.String(), `"status":"stopping"`) {
		t.Errorf("readiness = %d %s, want 503 and stopping", probe.Code, probe.Body)
	}
	if got := ask("/api/schema/"); got.Code != http.StatusOK || got.Header().Get("Connection") != "close" {
		t.Errorf("request = %d, Connection %q, want it answered and its connection ended",
			got.Code, got.Header().Get("Connection"))
	}
}

func TestReadinessOfADatabaseThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	s := fixture.Setup(t)
	name := s.DB.Pool.Config().ConnConfig.Database
	s.Exec(t, `ALTER DATABASE "`+name+`" SET default_transaction_read_only = on`)
	s.DB.Pool.Reset()
	got := s.Must(t, http.StatusServiceUnavailable, call{Path: "/readyz/"})
	if !strings.Contains(string(got.Body), `"database":"read-only"`) {
		t.Errorf("readiness = %s, want read-only", got.Body)
	}
}
