package pages

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
)

// proving returns the form with the password or the code of its visitor.
func proving(c call, name, value string) call {
	fields, err := url.ParseQuery(c.Body)
	if err != nil {
		panic(err)
	}
	fields.Set(name, value)
	c.Body = fields.Encode()
	return c
}

// actionsOfOwners are the forms that a session alone does not allow.
func (s *stage) actionsOfOwners(tb testing.TB) map[string]call {
	tb.Helper()
	member := fixture.HarbourPages + "members/" + s.AddMember(tb, "somebody", api.RoleViewer).String() + "/"
	post := func(path string, fields url.Values) call { return fixture.Post(path, "", fields) }
	owner := `{"email":"owner@b.example","name":"New owner","role":"owner"}`
	invited := fixture.Decoded[api.InvitationLink](tb,
		s.Must(tb, http.StatusCreated, fixture.Adding(s.Harbour.Tokens.Owner, owner))).ID
	token := url.Values{"id": {uuid.NewString()}, "label": {"x"}, "role": {"admin"}, "days": {"1"}}
	hook := fixture.HarbourPages + s.added(tb, s.Visitor(tb, api.RoleAdmin), "https://hooks.example/old")
	return map[string]call{
		"Role":          post(member+"role/", url.Values{"role": {"author"}}),
		"Invitation":    post(fixture.HarbourPages+"members/", url.Values{"email": {"a@b.example"}, "role": {"owner"}}),
		"Link":          post(fixture.HarbourPages+"members/invitations/"+invited+"/link/", nil),
		"Token":         post(fixture.HarbourPages+"tokens/", token),
		"PasswordLink":  post(member+"password/", url.Values{"hours": {"1"}}),
		"MembersFactor": post(member+"second-factor/remove/", nil),
		"SetUpFactor":   post("/app/account/second-factor/", nil),
		"RecoveryCodes": post("/app/account/second-factor/codes/", nil),
		"RemoveFactor":  post("/app/account/second-factor/remove/", nil),
		"Settings":      post(fixture.HarbourPages+"settings/", url.Values{"name": {"Harbour Energy"}}),
		"Secrets":       post(fixture.HarbourPages+"settings/secrets/", nil),
		"RotateSecrets": post(fixture.HarbourPages+"settings/secrets/rotate/", nil),
		"NewWebhook":    post(fixture.HarbourPages+"webhooks/", url.Values{"url": {"https://hooks.example/new"}}),
		"Webhook":       post(hook, url.Values{"url": {"https://hooks.example/old"}}),
		"RotateWebhook": post(hook+"rotate/", nil),
	}
}

func TestActionsOfOwnersNeedAConfirmation(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for name, form := range s.actionsOfOwners(t) {
		// Each has another user, because attempts are limited.
		id := s.AddMember(t, "owner-"+uuid.NewString(), api.RoleOwner)
		if err := s.Users.SignIn.SetPassword(t.Context(), id, fixture.VisitorPassword); err != nil {
			t.Fatal(err)
		}
		session := s.Session(t, id)
		s.Exec(t, `UPDATE sessions SET proved_at = now() - interval '10 minutes'`)
		before := s.RowCounts(t)
		html := s.Visit(t, http.StatusForbidden, form.In(session))
		fixture.Shows(t, html, "Confirm that it is you", `action="`+form.Path+`"`, `name="proof-password"`)
		fields, err := url.ParseQuery(form.Body)
		if err != nil {
			t.Fatal(err)
		}
		for field := range fields {
			fixture.Shows(t, html, `name="`+field+`" value="`+fields.Get(field)+`"`)
		}
		html = s.Visit(t, http.StatusBadRequest, proving(form, "proof-password", "wrong").In(session))
		fixture.Shows(t, html, "is not your password")
		fixture.Hides(t, html, `value="wrong"`)
		if after := s.RowCounts(t); after != before {
			t.Errorf("%s: rows before %+v and after %+v, want no effect", name, before, after)
		}
		got := s.AnswerTo(t, proving(form, "proof-password", fixture.VisitorPassword).In(session))
		if got.Status == http.StatusForbidden || got.Status == http.StatusUnauthorized ||
			got.Status == http.StatusBadRequest || got.Status >= http.StatusInternalServerError {
			t.Errorf("%s with the password = %d, want its effect: %s", name, got.Status, got.Body)
		}
		// It holds for a while, for this session alone.
		if got := s.AnswerTo(t, form.In(session)); got.Status == http.StatusForbidden {
			t.Errorf("%s a moment later = 403, want no other proof", name)
		}
	}
}

// A token outlives the session that has made it, and a rotated one has a new secret.
func TestTokensNeedAProof(t *testing.T) {
	t.Parallel()
	s := setup(t)
	id := s.WithPassword(t)
	session := s.Session(t, id)
	s.Exec(t, `UPDATE sessions SET proved_at = NULL`)
	for _, role := range api.Roles() {
		fields := url.Values{"id": {uuid.NewString()}, "label": {"new"}, "role": {string(role)}, "days": {"1"}}
		s.Visit(t, http.StatusForbidden, fixture.Post(fixture.HarbourPages+"tokens/", session, fields))
		s.TokenOf(t, id, role)
		token := coretest.One[uuid.UUID](t, s.DB, `SELECT id FROM api_tokens
			WHERE user_id = $1 AND role = $2`, id, role)
		form := harbourForm("tokens/"+token.String()+"/rotate/", session, nil)
		html := s.Visit(t, http.StatusForbidden, form)
		fixture.Shows(t, html, "Confirm that it is you")
		fixture.Hides(t, html, "svt_")
	}
	token := coretest.One[uuid.UUID](t, s.DB, `SELECT id FROM api_tokens WHERE user_id = $1 AND role = 'owner'`, id)
	form := harbourForm("tokens/"+token.String()+"/rotate/", session, nil)
	s.Visit(t, http.StatusCreated, proving(form, "proof-password", fixture.VisitorPassword))
}

// Whoever finds a browser open while its user sets up an app neither sees the secret nor turns it on.
func TestPendingFactorNeedsAProof(t *testing.T) {
	t.Parallel()
	s := setup(t)
	session := s.Session(t, s.WithPassword(t))
	app := s.pending(t, session)
	s.Exec(t, `UPDATE sessions SET proved_at = now() - interval '10 minutes'`)
	html := s.see(t, fixture.Page("/app/account/second-factor/", session))
	fixture.Hides(t, html, "factor-key")
	html = s.Visit(t, http.StatusForbidden, confirming(session, s.code(t, app, 0)))
	fixture.Shows(t, html, "Confirm that it is you")
	confirmed := proving(confirming(session, s.code(t, app, 0)), "proof-password", fixture.VisitorPassword)
	s.Visit(t, http.StatusCreated, confirmed)
}

func TestProof(t *testing.T) {
	t.Parallel()
	s := setup(t)
	id := s.WithPassword(t)
	session := s.Session(t, id)
	app := s.enrolled(t, session)
	form := fixture.Post("/app/account/second-factor/codes/", session, nil)

	s.Exec(t, `UPDATE sessions SET proved_at = NULL`) // As sessions of a release before.
	s.Visit(t, http.StatusForbidden, form)
	s.Visit(t, http.StatusBadRequest, proving(form, "proof-code", s.code(t, app, 5)))
	s.Visit(t, http.StatusCreated, proving(form, "proof-code", s.code(t, app, 0)))
	// Another session of the same user has to show it anew.
	other := s.Session(t, id)
	s.Exec(t, `UPDATE sessions SET proved_at = NULL WHERE digest = sha256($1::bytea)`, []byte(other))
	s.Visit(t, http.StatusForbidden, form.In(other).With("Cookie", "sv_session="+other))
	// Roles below admin are given without a proof.
	viewer := url.Values{"email": {"viewer@b.example"}, "role": {"viewer"}}
	s.Visit(t, http.StatusCreated, harbourForm("members/", other, viewer))
	if n := coretest.One[int64](t, s.DB,
		`SELECT count(*) FROM audit_records WHERE action = 'session.prove'`); n != 1 {
		t.Errorf("proofs in the audit log = %d, want 1", n)
	}
	// A form whose session has ended is kept, without what was to prove it.
	ended := proving(harbourForm("members/", "sv_made-up", viewer), "proof-password", fixture.VisitorPassword)
	html := s.Visit(t, http.StatusUnauthorized, ended)
	fixture.Shows(t, html, "viewer@b.example")
	fixture.Hides(t, html, fixture.VisitorPassword)
}

func TestProofsAreLimited(t *testing.T) {
	t.Parallel()
	s := setup(t)
	session := s.Session(t, s.WithPassword(t))
	s.Exec(t, `UPDATE sessions SET proved_at = NULL`)
	form := fixture.Post("/app/account/second-factor/", session, nil)
	refused := 0
	for range 40 {
		got := s.AnswerTo(t, proving(form, "proof-password", strings.Repeat("x", 12)))
		if got.Status == http.StatusTooManyRequests {
			refused++
		}
	}
	if refused < 10 {
		t.Errorf("%d of 40 guesses were refused, want those beyond the limit", refused)
	}
}
