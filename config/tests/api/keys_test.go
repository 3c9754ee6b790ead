package api

import (
	"bytes"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/config/edge"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/users"
	"github.com/simplevalidations/simplevalidations/validations/webhooks"
	"github.com/simplevalidations/simplevalidations/workflows"
)

// The request log shows the requests of a key by their operation, and the guide lists all operations that take keys.
func TestOperationsWithKeysAreKnown(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "guides", "idempotency.md"))
	if err != nil {
		t.Fatal(err)
	}
	operations := workflows.Operations()
	maps.Copy(operations, users.Operations())
	maps.Copy(operations, webhooks.Operations())
	found := 0
	for path, item := range openAPI(t).Paths.Map() {
		for method, operation := range item.Operations() {
			if operation.Parameters.GetByInAndName("header", "Idempotency-Key") == nil {
				continue
			}
			found++
			c := echo.New().NewContext(httptest.NewRequest(method, "/", http.NoBody), nil)
			c.SetPath(strings.NewReplacer("{", ":", "}", "").Replace(path))
			if _, known := operations[edge.DescribeLogged().Endpoint(c)]; !known {
				t.Errorf("the request log knows no operation of %s %s", method, path)
			}
			if listed := "`" + method + " " + path + "`"; !strings.Contains(path, "/v1/") &&
				!bytes.Contains(guide, []byte(listed)) {
				t.Errorf("docs/guides/idempotency.md does not list %s", listed)
			}
		}
	}
	if found == 0 {
		t.Error("no operation takes a key")
	}
}

func TestKeyOfAnotherWebhook(t *testing.T) {
	t.Parallel()
	s := setup(t)
	first, second := s.webhook(t, "https://hooks.example/a", "").ID, s.webhook(t, "https://hooks.example/b", "").ID
	test := call{
		Method: http.MethodPost, Path: "/api/webhooks/" + first + "/test/", Token: s.Harbour.Tokens.Owner,
	}.With("Idempotency-Key", "both")
	s.Must(t, http.StatusAccepted, test)
	s.Refused(t, api.CodeKeyReused, test.To("/api/webhooks/"+second+"/test/"))
}
