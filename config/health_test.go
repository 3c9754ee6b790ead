package config_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/config"
)

func TestStoppingProcessAnswersAndSendsClientsAway(t *testing.T) {
	t.Parallel()
	s := setup(t)
	handler := config.Stopping(s.project, s.router)
	ask := func(path string) *http.Response {
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, http.NoBody))
		return answer.Result()
	}
	probe := ask("/readyz/")
	body, err := io.ReadAll(probe.Body)
	if err != nil {
		t.Fatal(err)
	}
	if probe.StatusCode != http.StatusServiceUnavailable || !strings.Contains(string(body), `"status":"stopping"`) {
		t.Errorf("readiness = %d %s, want 503 and stopping", probe.StatusCode, body)
	}
	if got := ask("/api/schema/"); got.StatusCode != http.StatusOK || got.Header.Get("Connection") != "close" {
		t.Errorf("request = %d, Connection %q, want it answered and its connection ended",
			got.StatusCode, got.Header.Get("Connection"))
	}
}

func TestReadinessOfADatabaseThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	s := setup(t)
	name := s.db.Pool.Config().ConnConfig.Database
	s.exec(t, `ALTER DATABASE "`+name+`" SET default_transaction_read_only = on`)
	s.db.Pool.Reset()
	got := s.must(t, http.StatusServiceUnavailable, call{path: "/readyz/"})
	if !strings.Contains(string(got.body), `"database":"read-only"`) {
		t.Errorf("readiness = %s, want read-only", got.body)
	}
}
