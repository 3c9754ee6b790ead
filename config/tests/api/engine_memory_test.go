package api

import (
	"net/http"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/config"
	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
)

// What a document costs depends on its kind: the same bytes fit as a table and not as a tree.
func TestStartOfADocumentThatNeverFits(t *testing.T) {
	t.Parallel()
	s := setup(t, func(settings *config.Settings) { settings.EngineMemory = 1 << 20 })
	tree := func(key string, bytes int) call {
		c := s.Start(t, key).WithBody("application/json", `{"a":"`+strings.Repeat("a", bytes)+`"}`)
		c.Path = "/api/workflows/building/start/"
		return c
	}
	refused := s.Do(t, tree("a", 100<<10))
	fixture.WantProblem(t, refused, api.CodePayloadTooLarge)
	if !strings.Contains(string(refused.Body), "SV_ENGINE_MEMORY") {
		t.Errorf("body = %s, want what the operator can raise", refused.Body)
	}
	s.Must(t, http.StatusCreated, tree("a", 10))
	s.Must(t, http.StatusCreated, s.Start(t, "").WithBody("text/csv", strings.Repeat("a,b\n", 50<<10)))
}
