package config_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/config"
	"github.com/simplevalidations/simplevalidations/core"
)

// What a document costs depends on its kind: the same bytes fit as a table and not as a tree.
func TestStartOfADocumentThatNeverFits(t *testing.T) {
	t.Parallel()
	s := setup(t, func(settings *config.Settings) { settings.EngineMemory = 1 << 20 })
	tree := func(key string, bytes int) call {
		c := s.start(t, key).withBody("application/json", `{"a":"`+strings.Repeat("a", bytes)+`"}`)
		c.path = "/api/workflows/building/start/"
		return c
	}
	refused := s.do(t, tree("a", 100<<10))
	wantProblem(t, refused, core.CodePayloadTooLarge)
	if !strings.Contains(string(refused.body), "SV_ENGINE_MEMORY") {
		t.Errorf("body = %s, want what the operator can raise", refused.body)
	}
	s.must(t, http.StatusCreated, tree("a", 10))
	s.must(t, http.StatusCreated, s.start(t, "").withBody("text/csv", strings.Repeat("a,b\n", 50<<10)))
}
