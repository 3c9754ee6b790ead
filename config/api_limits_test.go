package config_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/config"
	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/validations"
)

func TestLimitsAreAnnounced(t *testing.T) {
	t.Parallel()
	s := setup(t, func(settings *config.Settings) {
		settings.RequestsPerSecond, settings.RunsPerMinute, settings.RedisURL = 0.01, 2, "redis://shared"
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

func TestLimitOfAllTokensOfAnOrganization(t *testing.T) {
	t.Parallel()
	s := setup(t, func(settings *config.Settings) { settings.OrgRequestsPerSecond = 0.01 })
	const policy = `"organization-requests";q=1;w=100`
	read := call{path: "/api/me/", token: s.Harbour.Tokens.Viewer}
	wantHeader(t, s.must(t, http.StatusOK, read), map[string]string{"RateLimit-Policy": policy})
	refused := s.do(t, read.by(s.Harbour.Tokens.Executor))
	wantProblem(t, refused, core.CodeRateLimited)
	wantHeader(t, refused, map[string]string{"RateLimit-Policy": policy, "Retry-After": "100"})
	s.must(t, http.StatusOK, read.by(s.Tiny.Tokens.Viewer))
}

func TestStreamsOfAnOrganizationAreLimited(t *testing.T) {
	t.Parallel()
	s := setup(t, func(settings *config.Settings) { settings.StreamsPerOrg = 1 })
	s.waits(t)
	start := s.start(t, "")
	events := start.to(validations.RunAddress(s.started(t, start).ID) + "events/").get()
	reader, end := s.follow(t, events)
	defer end()
	reader.next(t)
	refused := s.do(t, events.by(s.Harbour.Tokens.Viewer))
	wantProblem(t, refused, core.CodeRateLimited)
	wantHeader(t, refused, map[string]string{"Retry-After": "15"})
}

func TestActiveTokensOfAMemberAreLimited(t *testing.T) {
	t.Parallel()
	s := setup(t)
	token, id := s.addToken(t, s.Harbour, core.RoleViewer, core.RoleViewer)
	member := one[uuid.UUID](t, s, `SELECT user_id FROM api_tokens WHERE id = $1`, id)
	active := one[int](t, s, `SELECT count(*) FROM api_tokens WHERE user_id = $1`, member)
	if err := s.Users.SetTokenLimit(t.Context(), s.Harbour.ID, active+1); err != nil {
		t.Fatal(err)
	}
	create := call{
		method: http.MethodPost, path: "/api/tokens/", token: token,
		body: `{"label":"ci","role":"viewer","valid_for_ms":60000}`,
	}.with("Content-Type", "application/json")
	s.must(t, http.StatusCreated, create)
	made := one[uuid.UUID](t, s, `SELECT id FROM api_tokens WHERE label = 'ci'`)
	refused := s.do(t, create)
	wantProblem(t, refused, core.CodeTooManyTokens)
	wantHeader(t, refused, map[string]string{"Retry-After": "60"})
	rotate := create.to("/api/tokens/" + id.String() + "/rotate/")
	rotate.body = `{"overlap_ms":60000}`
	s.refused(t, core.CodeTooManyTokens, rotate)
	if got := one[int](t, s, `SELECT count(*) FROM api_tokens WHERE user_id = $1`, member); got != active+1 {
		t.Errorf("tokens = %d, want %d: a refusal makes none", got, active+1)
	}
	revoke := call{method: http.MethodDelete, path: "/api/tokens/" + made.String() + "/", token: token}
	s.must(t, http.StatusNoContent, revoke)
	s.must(t, http.StatusCreated, create)
	rotate.body = `{"overlap_ms":0}`
	s.must(t, http.StatusCreated, rotate)
}

// A process with a Redis of its own counts in memory, and announces the same.
func TestRunsAreLimitedWithoutARedisToShare(t *testing.T) {
	t.Parallel()
	s := setup(t, func(settings *config.Settings) { settings.RunsPerMinute = 2 })
	for _, left := range []string{"1", "0"} {
		got := s.must(t, http.StatusCreated, s.start(t, ""))
		wantHeader(t, got, map[string]string{"RateLimit-Policy": `"runs";q=2;w=60`})
		if limit := got.header.Get("RateLimit"); !strings.HasPrefix(limit, `"runs";r=`+left+";") {
			t.Errorf("RateLimit = %s, want %s left", limit, left)
		}
	}
	s.redis.FlushAll()
	wantProblem(t, s.do(t, s.start(t, "")), core.CodeRateLimited)
}

func TestWithoutLimitsNothingIsAnnounced(t *testing.T) {
	t.Parallel()
	s := setup(t)
	wantHeader(t, s.must(t, http.StatusCreated, s.start(t, "")), map[string]string{
		"RateLimit-Policy": "", "RateLimit": "",
	})
}
