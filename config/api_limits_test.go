package config_test

import (
	"net/http"
	"testing"

	"github.com/simplevalidations/simplevalidations/config"
	"github.com/simplevalidations/simplevalidations/core"
)

func TestLimitsAreAnnounced(t *testing.T) {
	t.Parallel()
	s := setup(t, func(settings *config.Settings) {
		settings.RequestsPerSecond, settings.RunsPerMinute = 0.01, 2
	})
	// A token may send one request every 100 s here, so each request has a token of its own.
	token := func(tb testing.TB) string {
		tb.Helper()
		secret, _ := s.addToken(tb, s.Harbour, core.RoleOwner, core.RoleOwner)
		return secret
	}
	const requests, runs = `"requests";q=1;w=100`, `"runs";q=2;w=60`

	read := call{path: "/api/me/", token: token(t)}
	wantHeader(t, s.must(t, http.StatusOK, read), map[string]string{
		"RateLimit-Policy": requests, "RateLimit": `"requests";r=0;t=100`, "Retry-After": "",
	})
	refused := s.do(t, read)
	wantProblem(t, refused, core.CodeRateLimited)
	wantHeader(t, refused, map[string]string{
		"RateLimit-Policy": requests, "RateLimit": `"requests";r=0;t=100`, "Retry-After": "100",
	})

	first := s.must(t, http.StatusCreated, s.start(t, "a").by(token(t)))
	wantHeader(t, first, map[string]string{
		"RateLimit-Policy": requests + ", " + runs, "RateLimit": `"requests";r=0;t=100, "runs";r=1;t=30`,
	})
	// A replay is counted as a request and not as a run, and is told about its own limits, not the first one's.
	replayed := s.must(t, http.StatusCreated, s.start(t, "a").by(token(t)))
	wantHeader(t, replayed, map[string]string{
		"Idempotent-Replayed": "true", "RateLimit-Policy": requests, "RateLimit": `"requests";r=0;t=100`,
	})
	s.must(t, http.StatusCreated, s.start(t, "").by(token(t)))
	tooMany := s.do(t, s.start(t, "").by(token(t)))
	wantProblem(t, tooMany, core.CodeRateLimited)
	wantHeader(t, tooMany, map[string]string{"RateLimit-Policy": requests + ", " + runs})
	if after := tooMany.header.Get("Retry-After"); after == "" || after == "0" {
		t.Errorf("Retry-After = %q, want some seconds", after)
	}
}

func TestWithoutLimitsNothingIsAnnounced(t *testing.T) {
	t.Parallel()
	s := setup(t)
	wantHeader(t, s.must(t, http.StatusCreated, s.start(t, "")), map[string]string{
		"RateLimit-Policy": "", "RateLimit": "",
	})
}
