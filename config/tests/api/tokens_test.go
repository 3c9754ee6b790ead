package api

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
)

func (s *stage) createsToken(tb testing.TB, by, body string) api.TokenSecret {
	tb.Helper()
	return fixture.Decoded[api.TokenSecret](tb, s.Must(tb, http.StatusCreated, tokenCall(by, body)))
}

func tokenCall(by, body string) call {
	return call{Method: http.MethodPost, Path: "/api/tokens/", Token: by}.WithBody("application/json", body)
}

// rotate is the rotation of a token; without a body it has the default overlap.
func rotate(id, by, body string) call {
	c := call{Method: http.MethodPost, Path: "/api/tokens/" + id + "/rotate/", Token: by}
	if body == "" {
		return c
	}
	return c.WithBody("application/json", body)
}

func revoke(id, by string) call {
	return call{Method: http.MethodDelete, Path: "/api/tokens/" + id + "/", Token: by}
}

// listedTokens returns the tokens of a list by their label.
func (s *stage) listedTokens(tb testing.TB, by, query string) map[string]api.Token {
	tb.Helper()
	got := s.Must(tb, http.StatusOK, call{Path: "/api/tokens/?page_size=200" + query, Token: by})
	found := make(map[string]api.Token)
	for _, token := range fixture.Decoded[api.Page[api.Token]](tb, got).Results {
		found[token.Label] = token
	}
	return found
}

func (s *stage) works(tb testing.TB, secret string) {
	tb.Helper()
	s.Must(tb, http.StatusOK, call{Path: "/api/me/", Token: secret})
}

func (s *stage) worksNot(tb testing.TB, secret string) {
	tb.Helper()
	s.Refused(tb, api.CodeNotAuthenticated, call{Path: "/api/me/", Token: secret})
}

func TestCreateToken(t *testing.T) {
	t.Parallel()
	s := setup(t)

	t.Run("ShowsTheSecretOnce", func(t *testing.T) {
		t.Parallel()
		got := s.Must(t, http.StatusCreated,
			tokenCall(s.Harbour.Tokens.Executor, `{"label":"nightly","role":"executor","valid_for_ms":3600000}`))
		fixture.WantHeader(t, got, map[string]string{"Cache-Control": "no-store"})
		made := fixture.Decoded[api.TokenSecret](t, got)
		if !strings.HasPrefix(made.Secret, made.Prefix) || made.Email != "executor@harbour-energy.example" {
			t.Errorf("token = %+v, want one of the caller with its secret", made)
		}
		if life := made.ExpiresAt.Sub(made.CreatedAt.Time).Round(time.Second); life != time.Hour {
			t.Errorf("life = %s, want 1h", life)
		}
		s.works(t, made.Secret)
		list := call{Path: "/api/tokens/?page_size=200", Token: s.Harbour.Tokens.Executor}
		if page := s.Must(t, http.StatusOK, list); bytes.Contains(page.Body, []byte(made.Secret[10:])) {
			t.Errorf("the list has the secret: %s", page.Body)
		}
		shown := s.listedTokens(t, s.Harbour.Tokens.Executor, "")["nightly"]
		if diff := cmp.Diff(made.Token, shown); diff != "" {
			t.Errorf("listed (-created +listed):\n%s", diff)
		}
		if kept := coretest.One[int64](t, s.DB, `SELECT count(*) FROM idempotency_keys`); kept != 0 {
			t.Errorf("keys = %d, want 0: the answer must not be kept", kept)
		}
	})

	t.Run("IsNotReplayed", func(t *testing.T) {
		t.Parallel()
		keyed := tokenCall(s.Harbour.Tokens.Viewer, `{"label":"twice","role":"viewer"}`).
			With("Idempotency-Key", "twice")
		first := fixture.Decoded[api.TokenSecret](t, s.Must(t, http.StatusCreated, keyed))
		if second := fixture.Decoded[api.TokenSecret](t, s.Must(t, http.StatusCreated,
			keyed)); second.Secret == first.Secret {
			t.Error("a secret was shown twice")
		}
	})

	t.Run("GivesNoMoreThanOnesOwnRole", func(t *testing.T) {
		t.Parallel()
		weak, _ := s.AddToken(t, s.Harbour, api.RoleOwner, api.RoleExecutor)
		for _, by := range []string{weak, s.Harbour.Tokens.Executor} {
			s.Refused(t, api.CodePermissionDenied, tokenCall(by, `{"label":"x","role":"author"}`))
		}
	})

	for name, body := range map[string]string{
		"NoLabel": `{"role":"viewer"}`, "NoRole": `{"label":"x"}`, "UnknownRole": `{"label":"x","role":"king"}`,
		"NegativeLife":  `{"label":"x","role":"viewer","valid_for_ms":-1}`,
		"EndlessLife":   `{"label":"x","role":"viewer","valid_for_ms":3153600000001}`,
		"LongLabel":     `{"label":"` + strings.Repeat("x", 101) + `","role":"viewer"}`,
		"NUL":           `{"label":"a\u0000","role":"viewer"}`,
		"UnknownMember": `{"label":"x","role":"viewer","user":"y"}`,
		"NoJSON":        `{`,
	} {
		t.Run("Refuses"+name, func(t *testing.T) {
			t.Parallel()
			s.Refused(t, api.CodeInvalidPayload, tokenCall(s.Harbour.Tokens.Owner, body))
		})
	}
}

func TestListTokens(t *testing.T) {
	t.Parallel()
	s := setup(t)
	mine := s.createsToken(t, s.Harbour.Tokens.Executor, `{"label":"mine","role":"viewer"}`)
	theirs := s.createsToken(t, s.Harbour.Tokens.Owner, `{"label":"theirs","role":"owner"}`)
	s.Exec(t, `UPDATE api_tokens SET expires_at = now() WHERE id = $1`, mine.ID)
	s.Must(t, http.StatusNoContent, revoke(theirs.ID, s.Harbour.Tokens.Owner))
	for _, tt := range []struct {
		name, by, query string
		mine, theirs    api.TokenState
	}{
		{"OnesOwn", s.Harbour.Tokens.Executor, "", "expired", ""},
		{"AllForTheOwner", s.Harbour.Tokens.Owner, "", "expired", "revoked"},
		{"OfOneUser", s.Harbour.Tokens.Owner, "&user=" + mine.User, "expired", ""},
		{"OfAnotherUser", s.Harbour.Tokens.Executor, "&user=" + theirs.User, "", ""},
		{"ByState", s.Harbour.Tokens.Owner, "&state=revoked", "", "revoked"},
		{"Active", s.Harbour.Tokens.Owner, "&state=active", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			listed := s.listedTokens(t, tt.by, tt.query)
			if listed["mine"].State != tt.mine || listed["theirs"].State != tt.theirs {
				t.Errorf("states = %q and %q, want %q and %q",
					listed["mine"].State, listed["theirs"].State, tt.mine, tt.theirs)
			}
		})
	}
	for _, query := range []string{"?state=gone", "?user=me", "?page_size=0", "?cursor=x"} {
		t.Run("Refuses"+query, func(t *testing.T) {
			t.Parallel()
			s.Refused(t, api.CodeInvalidParameter, call{Path: "/api/tokens/" + query, Token: s.Harbour.Tokens.Owner})
		})
	}
}

func TestRevokeToken(t *testing.T) {
	t.Parallel()
	s := setup(t)

	t.Run("EndsItAtOnceAndForAll", func(t *testing.T) {
		t.Parallel()
		made := s.createsToken(t, s.Harbour.Tokens.Viewer, `{"label":"leaked","role":"viewer"}`)
		s.works(t, made.Secret)
		s.Must(t, http.StatusNoContent, revoke(made.ID, made.Secret))
		s.worksNot(t, made.Secret)
		at := s.listedTokens(t, s.Harbour.Tokens.Viewer, "")["leaked"].RevokedAt
		s.Must(t, http.StatusNoContent, revoke(made.ID, s.Harbour.Tokens.Owner))
		if again := s.listedTokens(t, s.Harbour.Tokens.Viewer, "")["leaked"].RevokedAt; at.IsZero() || again != at {
			t.Errorf("revoked at %s and then at %s, want it once", at, again)
		}
		wantAudits(t, s, made.ID, "token.create", "token.revoke")
	})
}

func TestRotateToken(t *testing.T) {
	t.Parallel()
	s := setup(t)
	made := func(tb testing.TB, label string) api.TokenSecret {
		tb.Helper()
		return s.createsToken(tb, s.Harbour.Tokens.Executor,
			fmt.Sprintf(`{"label":%q,"role":"executor","valid_for_ms":7200000000}`, label))
	}

	t.Run("BothWorkForTheOverlap", func(t *testing.T) {
		t.Parallel()
		old := made(t, "overlap")
		fresh := fixture.Decoded[api.TokenSecret](t, s.Must(t, http.StatusCreated, rotate(old.ID, old.Secret, "")))
		if fresh.Label != "overlap" || fresh.Role != api.RoleExecutor || fresh.ID == old.ID ||
			fresh.ExpiresAt.Sub(fresh.CreatedAt.Time).Round(time.Second) != 2000*time.Hour {
			t.Errorf("token = %+v, want one like %+v", fresh, old)
		}
		s.works(t, old.Secret)
		s.works(t, fresh.Secret)
		coretest.WantRow(t, s.DB, coretest.Row{"replaced_by": fresh.ID, "lifetime": "1 day"},
			`SELECT t.replaced_by, t.expires_at - f.created_at AS lifetime
			FROM api_tokens AS t JOIN api_tokens AS f ON f.id = t.replaced_by WHERE t.id = $1`, old.ID)
		s.Exec(t, `UPDATE api_tokens SET expires_at = now() WHERE id = $1`, old.ID)
		s.worksNot(t, old.Secret)
		wantAudits(t, s, old.ID, "token.create", "token.rotate")
	})

	t.Run("AtOnce", func(t *testing.T) {
		t.Parallel()
		old := made(t, "at once")
		fresh := fixture.Decoded[api.TokenSecret](t, s.Must(t, http.StatusCreated,
			rotate(old.ID, old.Secret, `{"overlap_ms":0}`)))
		s.worksNot(t, old.Secret)
		s.works(t, fresh.Secret)
	})

	t.Run("NeverMakesTheOldOneLiveLonger", func(t *testing.T) {
		t.Parallel()
		old := made(t, "short")
		s.Exec(t, `UPDATE api_tokens SET expires_at = now() + interval '1 minute' WHERE id = $1`, old.ID)
		s.Must(t, http.StatusCreated, rotate(old.ID, old.Secret, `{"overlap_ms":604800000}`))
		if left := coretest.One[time.Duration](t, s.DB,
			`SELECT expires_at - now() FROM api_tokens WHERE id = $1`, old.ID); left > time.Minute {
			t.Errorf("the old token ends in %v, want in a minute at most", left)
		}
	})

	t.Run("OnceHoweverManyTryIt", func(t *testing.T) {
		t.Parallel()
		old := made(t, "raced")
		created := 0
		rotation := rotate(old.ID, s.Harbour.Tokens.Executor, "")
		for _, got := range s.Together(t, slices.Repeat([]call{rotation}, 8)) {
			if got.Status == http.StatusCreated {
				created++
				continue
			}
			fixture.WantProblem(t, got, api.CodeTokenNotRotatable)
		}
		if n := coretest.One[int64](t, s.DB,
			`SELECT count(*) FROM api_tokens WHERE label = 'raced'`); created != 1 || n != 2 {
			t.Errorf("%d rotations and %d tokens, want 1 and 2", created, n)
		}
	})

	t.Run("OnlyWhatWorks", func(t *testing.T) {
		t.Parallel()
		revoked, expired := made(t, "revoked"), made(t, "expired")
		s.Must(t, http.StatusNoContent, revoke(revoked.ID, revoked.Secret))
		s.Exec(t, `UPDATE api_tokens SET expires_at = now() WHERE id = $1`, expired.ID)
		for _, ended := range []api.TokenSecret{revoked, expired} {
			s.Refused(t, api.CodeTokenNotRotatable, rotate(ended.ID, s.Harbour.Tokens.Executor, ""))
		}
	})

	t.Run("NeverGivesMoreThanTheCallerHas", func(t *testing.T) {
		t.Parallel()
		strong, strongID := s.AddToken(t, s.Harbour, api.RoleOwner, api.RoleOwner)
		weak, _ := s.AddToken(t, s.Harbour, api.RoleOwner, api.RoleExecutor)
		s.Refused(t, api.CodePermissionDenied, rotate(strongID.String(), weak, ""))
		s.works(t, strong)
		// A member's token may say more than the member may do, and is then worth no more than any other.
		ceiling, ceilingID := s.AddToken(t, s.Harbour, api.RoleViewer, api.RoleOwner)
		s.Must(t, http.StatusCreated, rotate(ceilingID.String(), s.Harbour.Tokens.Viewer, ""))
		s.works(t, ceiling)
	})

	t.Run("RefusesOverlapsOutOfBounds", func(t *testing.T) {
		t.Parallel()
		old := made(t, "bounds")
		for _, body := range []string{`{"overlap_ms":604800001}`, `{"overlap_ms":-1}`, `{"overlap_ms":"1h"}`} {
			s.Refused(t, api.CodeInvalidPayload, rotate(old.ID, old.Secret, body))
		}
	})
}

// wantAudits demands audit records of actions on a subject with a token.
func wantAudits(tb testing.TB, s *stage, id string, actions ...string) {
	tb.Helper()
	got := coretest.One[string](tb, s.DB, `SELECT coalesce(string_agg(action, ' ' ORDER BY id), '') FROM audit_records
		WHERE target_id = $1 AND actor_id IS NOT NULL AND token_id IS NOT NULL AND request_id <> ''`, id)
	if want := strings.Join(actions, " "); got != want {
		tb.Errorf("audit records = %q, want %q", got, want)
	}
}
