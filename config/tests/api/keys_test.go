package api

import (
	"bytes"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/config/edge"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/users"
	"github.com/simplevalidations/simplevalidations/validations/webhooks"
	"github.com/simplevalidations/simplevalidations/workflows"
)

func TestKeyPolicyIsBounded(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for _, lifetime := range []time.Duration{
		-time.Hour, time.Nanosecond, time.Minute - time.Millisecond, 30*24*time.Hour + time.Second, 1 << 62,
	} {
		err := s.Users.SetKeyPolicy(t.Context(), s.Harbour.ID, users.KeyPolicy{Lifetime: lifetime})
		if !errors.Is(err, api.CodeInvalidPayload) {
			t.Errorf("SetKeyPolicy with %v = %v, want %s", lifetime, err, api.CodeInvalidPayload)
		}
	}
	audited := `SELECT count(*) FROM audit_records WHERE action = 'organization.set_keys' AND org_id = $1`
	if n := coretest.One[int64](t, s.DB, audited, s.Harbour.ID); n != 0 {
		t.Errorf("audited changes = %d after refusals, want 0", n)
	}
	for _, lifetime := range []time.Duration{time.Minute, 30 * 24 * time.Hour} {
		s.setKeyPolicy(t, s.Harbour.ID, users.KeyPolicy{Lifetime: lifetime})
		s.Must(t, http.StatusCreated, s.Start(t, lifetime.String()))
		if got := coretest.One[time.Duration](t, s.DB, `SELECT expires_at - created_at FROM idempotency_keys
			WHERE key = $1`, lifetime.String()); got != lifetime {
			t.Errorf("the key lives for %v, want %v", got, lifetime)
		}
	}
	if n := coretest.One[int64](t, s.DB, audited, s.Harbour.ID); n != 2 {
		t.Errorf("audited changes = %d, want 2", n)
	}
}

func (s *stage) setKeyPolicy(tb testing.TB, orgID uuid.UUID, policy users.KeyPolicy) {
	tb.Helper()
	if err := s.Users.SetKeyPolicy(tb.Context(), orgID, policy); err != nil {
		tb.Fatalf("set key policy: %v", err)
	}
}

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
