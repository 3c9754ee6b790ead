package api

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/config"
	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
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
		secret, _ := s.AddToken(tb, s.Harbour, api.RoleOwner, api.RoleOwner)
		return secret
	}
	const requests, runs = `"requests";q=1;w=100`, `"runs";q=2;w=60`

	read := call{Path: "/api/me/", Token: token(t)}
	fixture.WantHeader(t, s.Must(t, http.StatusOK, read), map[string]string{
		"RateLimit-Policy": requests, "RateLimit": `"requests";r=0;t=100`, "Retry-After": "",
	})
	refused := s.Do(t, read)
	fixture.WantProblem(t, refused, api.CodeRateLimited)
	fixture.WantHeader(t, refused, map[string]string{"RateLimit-Policy": requests, "Retry-After": "100"})

	first := s.Must(t, http.StatusCreated, s.Start(t, "a").By(token(t)))
	fixture.WantHeader(t, first, map[string]string{
		"RateLimit-Policy": requests + ", " + runs, "RateLimit": `"requests";r=0;t=100, "runs";r=1;t=30`,
	})
	// A replay is counted as a request and not as a run, and its answer announces its own limits, not those of the
	// first one.
	replayed := s.Must(t, http.StatusCreated, s.Start(t, "a").By(token(t)))
	fixture.WantHeader(t, replayed, map[string]string{
		"Idempotent-Replayed": "true", "RateLimit-Policy": requests, "RateLimit": `"requests";r=0;t=100`,
	})
	s.Must(t, http.StatusCreated, s.Start(t, "").By(token(t)))
	tooMany := s.Do(t, s.Start(t, "").By(token(t)))
	fixture.WantProblem(t, tooMany, api.CodeRateLimited)
	fixture.WantHeader(t, tooMany, map[string]string{
		"RateLimit-Policy": requests + ", " + runs, "Retry-After": "30",
	})
}

func TestLimitOfAllTokensOfAnOrganization(t *testing.T) {
	t.Parallel()
	s := setup(t, func(settings *config.Settings) { settings.OrgRequestsPerSecond = 0.01 })
	const policy = `"organization-requests";q=1;w=100`
	read := s.reading("/api/me/")
	fixture.WantHeader(t, s.Must(t, http.StatusOK, read), map[string]string{"RateLimit-Policy": policy})
	refused := s.Do(t, read.By(s.Harbour.Tokens.Executor))
	fixture.WantProblem(t, refused, api.CodeRateLimited)
	fixture.WantHeader(t, refused, map[string]string{"RateLimit-Policy": policy, "Retry-After": "100"})
	s.Must(t, http.StatusOK, read.By(s.Tiny.Tokens.Viewer))
}

func TestStreamsOfAnOrganizationAreLimited(t *testing.T) {
	t.Parallel()
	s := setup(t, func(settings *config.Settings) { settings.StreamsPerOrg = 1 })
	s.Waits(t)
	start := s.Start(t, "")
	events := start.To(validations.RunAddress(s.Started(t, start).ID) + "events/").Get()
	reader, end := s.follow(t, events)
	defer end()
	reader.next(t)
	refused := s.RefusedStream(t, events.By(s.Harbour.Tokens.Viewer))
	fixture.WantProblem(t, refused, api.CodeRateLimited)
	fixture.WantHeader(t, refused, map[string]string{"Retry-After": "15"})
}

func TestActiveTokensOfAMemberAreLimited(t *testing.T) {
	t.Parallel()
	s := setup(t)
	token, id := s.AddToken(t, s.Harbour, api.RoleViewer, api.RoleViewer)
	member := coretest.One[uuid.UUID](t, s.DB, `SELECT user_id FROM api_tokens WHERE id = $1`, id)
	active := coretest.One[int](t, s.DB, `SELECT count(*) FROM api_tokens WHERE user_id = $1`, member)
	if err := s.Users.SetTokenLimit(t.Context(), s.Harbour.ID, active+1); err != nil {
		t.Fatal(err)
	}
	create := call{
		Method: http.MethodPost, Path: "/api/tokens/", Token: token,
		Body: `{"label":"ci","role":"viewer","valid_for_ms":60000}`,
	}.With("Content-Type", "application/json")
	s.Must(t, http.StatusCreated, create)
	made := coretest.One[uuid.UUID](t, s.DB, `SELECT id FROM api_tokens WHERE label = 'ci'`)
	refused := s.Do(t, create)
	fixture.WantProblem(t, refused, api.CodeTooManyTokens)
	fixture.WantHeader(t, refused, map[string]string{"Retry-After": "60"})
	rotate := create.To("/api/tokens/" + id.String() + "/rotate/")
	rotate.Body = `{"overlap_ms":60000}`
	s.Refused(t, api.CodeTooManyTokens, rotate)
	if got := coretest.One[int](t, s.DB, `SELECT count(*) FROM api_tokens WHERE user_id = $1`,
		member); got != active+1 {
		t.Errorf("tokens = %d, want %d: a refusal makes none", got, active+1)
	}
	revoke := call{Method: http.MethodDelete, Path: "/api/tokens/" + made.String() + "/", Token: token}
	s.Must(t, http.StatusNoContent, revoke)
	s.Must(t, http.StatusCreated, create)
	rotate.Body = `{"overlap_ms":0}`
	s.Must(t, http.StatusCreated, rotate)
}

// A process with a Redis of its own counts in memory, and announces the same.
func TestRunsAreLimitedWithoutARedisToShare(t *testing.T) {
	t.Parallel()
	s := setup(t, func(settings *config.Settings) { settings.RunsPerMinute = 2 })
	for _, left := range []string{"1", "0"} {
		got := s.Must(t, http.StatusCreated, s.Start(t, ""))
		fixture.WantHeader(t, got, map[string]string{"RateLimit-Policy": `"runs";q=2;w=60`})
		if limit := got.Header.Get("RateLimit"); !strings.HasPrefix(limit, `"runs";r=`+left+";") {
			t.Errorf("RateLimit = %s, want %s left", limit, left)
		}
	}
	s.Redis.FlushAll()
	fixture.WantProblem(t, s.Do(t, s.Start(t, "")), api.CodeRateLimited)
}
