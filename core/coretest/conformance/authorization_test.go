package conformance

import (
	"bytes"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

// testScope has what a key belongs to: an organization and an operation, and nothing narrower or wider.
func (s *site) testScope(t *testing.T) {
	t.Helper()
	for name, path := range map[string]string{
		"BySlugAndById":                   "/api/workflows/" + s.buildingID(t) + "/start/",
		"ByIdInCapitals":                  "/api/workflows/" + strings.ToUpper(s.buildingID(t)) + "/start/",
		"BySlugAndByIdAndWithoutTheSlash": "/api/workflows/" + s.buildingID(t) + "/start",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first := s.created(t, s.start(t))
			s.replayed(t, s.start(t).to(path), first)
			s.wantRuns(t, t.Name(), 1)
		})
	}
}

// buildingID reads the id of the workflow that starts are sent to.
func (s *site) buildingID(tb testing.TB) string {
	tb.Helper()
	a := s.do(tb, call{method: http.MethodGet, path: "/api/workflows/building/"}.by(s.Harbour.Tokens.Viewer))
	found := regexp.MustCompile(`^\{"id":"([0-9a-f-]{36})"`).FindSubmatch(a.Body)
	if found == nil {
		tb.Fatalf("workflow = %d %s, want its id", a.Status, a.Body)
	}
	return string(found[1])
}

// testAuthorization has what a replay takes today, whatever was so at first.
func (s *site) testAuthorization(t *testing.T) {
	t.Helper()
	t.Run("RefusalsDoNotTellWhetherAKeyIsUsed", s.testSilence)

	t.Run("LostRole", func(t *testing.T) {
		t.Parallel()
		token := s.executor(t, "demoted")
		s.testLoss(t, token, api.CodePermissionDenied, func(program.Answer) {
			s.command(t, "user", "set", "demoted@harbour-energy.example", "--org", "harbour-energy", "--role", "viewer")
		})
	})

	t.Run("LostMembership", func(t *testing.T) {
		t.Parallel()
		token := s.executor(t, "expelled")
		s.testLoss(t, token, api.CodePermissionDenied, func(program.Answer) {
			program.Change(t, s.DB, `DELETE FROM memberships
				WHERE user_id = (SELECT id FROM users WHERE email = 'expelled@harbour-energy.example')`)
		})
	})

	t.Run("RevokedToken", func(t *testing.T) {
		t.Parallel()
		token := s.token(t, s.harbour(), "executor")
		s.testLoss(t, token, api.CodeNotAuthenticated, func(first program.Answer) { s.revoke(t, first) })
	})

	t.Run("ExpiredToken", func(t *testing.T) {
		t.Parallel()
		token := s.token(t, s.harbour(), "executor", "--valid-for", "1h")
		s.testLoss(t, token, api.CodeNotAuthenticated, func(first program.Answer) {
			program.Change(t, s.DB, `UPDATE api_tokens SET expires_at = now()`+thatStarted, first.Run(t).String())
		})
	})
}

// thatStarted is the condition of the token that a run was started with.
const thatStarted = ` WHERE id = (SELECT token_id FROM audit_records WHERE action = 'run.start' AND target_id = $1)`

// revoke revokes the token that a run was started with.
func (s *site) revoke(tb testing.TB, first program.Answer) {
	tb.Helper()
	program.Change(tb, s.DB, `UPDATE api_tokens SET revoked_at = now()`+thatStarted, first.Run(tb).String())
}

// executor makes a member of harbour who may start runs, and returns a token.
func (s *site) executor(tb testing.TB, name string) string {
	tb.Helper()
	s.command(tb, "user", "create", name+"@harbour-energy.example", "--org", "harbour-energy", "--role", "executor")
	return s.token(tb, s.harbour(), name)
}

// testLoss demands that a replay is refused when its sender has lost a right, and is there for others.
func (s *site) testLoss(t *testing.T, token string, code api.Code, lose func(first program.Answer)) {
	t.Helper()
	c := s.start(t).by(token)
	first := s.created(t, c)
	s.replayed(t, c, first)
	lose(first)
	s.refused(t, c, code)
	for _, server := range []*program.Server{s.one, s.other} {
		if refusal := s.on(t, server, c); bytes.Contains(refusal.Body, []byte(first.Run(t).String())) {
			t.Errorf("the refusal names the run: %s", refusal.Body)
		}
	}
	s.replayed(t, c.by(s.Harbour.Tokens.Owner), first)
	s.wantRuns(t, t.Name(), 1)
}

// testSilence compares refusals under a used and an unused key of one length.
func (s *site) testSilence(t *testing.T) {
	t.Parallel()
	used := s.start(t).key(t.Name() + "-used")
	first := s.created(t, used)
	for _, tt := range []struct {
		name   string
		change func(call) call
		code   api.Code
	}{
		{"NoCredentials", func(c call) call { return c.without("Authorization") }, api.CodeNotAuthenticated},
		{"UnknownToken", func(c call) call { return c.by("sv_unknown") }, api.CodeNotAuthenticated},
		{"NoBearer", func(c call) call { return c.with("Authorization", "Basic YTpi") }, api.CodeNotAuthenticated},
		{"Viewer", func(c call) call { return c.by(s.Harbour.Tokens.Viewer) }, api.CodePermissionDenied},
		{"UnknownWorkflow", func(c call) call { return c.to("/api/workflows/unknown/start/") }, api.CodeNotFound},
		{"ForeignWorkflow", func(c call) call {
			return c.to("/api/workflows/" + s.buildingID(t) + "/start/").by(s.Tiny.Tokens.Executor)
		}, api.CodeNotFound},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			unused := used.key(strings.TrimSuffix(used.header.Get("Idempotency-Key"), "-used") + "-none")
			got, want := s.refused(t, tt.change(used), tt.code), s.refused(t, tt.change(unused), tt.code)
			if diff := cmp.Diff(anonymous(t, want), anonymous(t, got)); diff != "" {
				t.Errorf("refusal (-unused +used):\n%s", diff)
			}
			if bytes.Contains(got.Body, []byte(first.Run(t).String())) {
				t.Errorf("the refusal tells of the run: %s", got.Body)
			}
			s.wantNothing(t, unused.header.Get("Idempotency-Key"))
		})
	}
}

// anonymous is an answer without what every request has of its own.
func anonymous(tb testing.TB, a program.Answer) string {
	tb.Helper()
	header := a.Header.Clone()
	for _, own := range []string{"Date", "Request-Id", "Idempotency-Key", "RateLimit"} {
		header.Del(own)
	}
	var text strings.Builder
	if err := header.Write(&text); err != nil {
		tb.Fatalf("write headers: %v", err)
	}
	body := regexp.MustCompile(`"request_id":"[^"]*"`).ReplaceAllString(string(a.Body), "")
	return text.String() + body
}
