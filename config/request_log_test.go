package config_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"maps"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/config"
	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	dbtest "github.com/simplevalidations/simplevalidations/core/coretest"
)

func TestRequestLogNamesWho(t *testing.T) {
	t.Parallel()
	var lines bytes.Buffer
	s := fixture.SetupLogged(t, slog.New(slog.NewJSONHandler(&lines, nil)))
	tokenID := dbtest.One[string](t, s.DB,
		"SELECT id::text FROM api_tokens WHERE role = 'executor' AND org_id = $1", s.Harbour.ID)
	// logged sends a request and returns the fields of its line that say who and what.
	logged := func(c call) map[string]any {
		t.Helper()
		lines.Reset()
		request, err := c.Request(t.Context(), "checks.example")
		if err != nil {
			t.Fatal(err)
		}
		request.RemoteAddr = "192.0.2.7:4711"
		s.Router.ServeHTTP(httptest.NewRecorder(), request)
		var line map[string]any
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatalf("log = %s: %v", lines.String(), err)
		}
		logged := lines.String()
		if strings.Contains(logged, "logged-key") || strings.Contains(logged, c.Token) && c.Token != "" {
			t.Errorf("log = %s, want neither the key nor the token", lines.String())
		}
		for _, name := range []string{"time", "level", "msg", "method", "route", "bytes_out", "ms", "request_id"} {
			delete(line, name)
		}
		return line
	}
	who := func(more map[string]any) map[string]any {
		all := map[string]any{
			"client": "192.0.2.7", "org": s.Harbour.Slug, "token": tokenID, "role": "executor",
		}
		maps.Copy(all, more)
		return all
	}
	const hash = "1c5d46782b11f76b"
	start := s.Start(t, "logged-key")
	created := logged(start)
	run, _ := created["run"].(string)
	for name, c := range map[string]struct{ got, want map[string]any }{
		"New": {created, who(map[string]any{"status": 201.0, "outcome": "new", "key_hash": hash, "run": run})},
		"Replayed": {logged(start), who(map[string]any{
			"status": 201.0, "outcome": "replayed", "key_hash": hash, "run": run,
		})},
		"Refused": {logged(start.With("X-Filename", "another.csv")), who(map[string]any{
			"status": 422.0, "outcome": "refused", "code": "idempotency_key_reused", "key_hash": hash,
		})},
		"Read": {logged(call{Path: "/api/runs/" + run + "/", Token: start.Token}), who(map[string]any{
			"status": 200.0, "run": run,
		})},
		"Stranger": {logged(call{Path: "/api/me/", Token: "unknown"}), map[string]any{
			"client": "192.0.2.7", "status": 401.0, "code": "not_authenticated",
		}},
		"Lost": {logged(call{Path: "/nothing/at-all"}), map[string]any{
			"client": "192.0.2.7", "status": 404.0, "code": "not_found", "path": "/nothing/at-all/",
		}},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if run == "" || dbtest.One[int](t, s.DB, "SELECT count(*) FROM validation_runs WHERE id = $1", run) != 1 {
		t.Errorf("run = %q, want the one that was started", run)
	}
}

func TestRequestLogNamesWhoIsLimited(t *testing.T) {
	t.Parallel()
	var lines bytes.Buffer
	s := fixture.SetupLogged(t, slog.New(slog.NewTextHandler(&lines, nil)), func(settings *config.Settings) {
		settings.RequestsPerSecond = 0.001
	})
	for range 3 {
		request, err := call{Path: "/api/me/", Token: s.Harbour.Tokens.Viewer}.Request(t.Context(), "checks.example")
		if err != nil {
			t.Fatal(err)
		}
		s.Router.ServeHTTP(httptest.NewRecorder(), request)
	}
	if !strings.Contains(lines.String(), "org="+s.Harbour.Slug) ||
		!strings.Contains(lines.String(), "code=rate_limited") {
		t.Errorf("log = %s, want the organization of a request beyond the limit", lines.String())
	}
}
