package cli

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/coretest"
)

// seeded is what the command prints.
type seeded struct {
	Dashboard struct {
		Email    string `json:"email"`
		Password string `json:"password"`
	} `json:"dashboard"`
	Orgs []struct {
		Tokens struct {
			Owner    string `json:"owner"`
			Executor string `json:"executor"`
			Viewer   string `json:"viewer"`
		} `json:"tokens"`
	} `json:"orgs"`
}

func TestSeedAgain(t *testing.T) {
	t.Parallel()
	s := fixture.Setup(t)
	c := s.Console(t)
	seed := func(args ...string) seeded {
		t.Helper()
		var printed seeded
		output := c.Must(t, append([]string{"seed", "--demo", "--json"}, args...)...)
		if err := json.Unmarshal([]byte(output), &printed); err != nil {
			t.Fatal(err)
		}
		return printed
	}
	signIn := func(password string) int {
		t.Helper()
		return s.AnswerTo(t, fixture.SignIn(seed().Dashboard.Email, password)).Status
	}
	first := seed()
	tokens := func() int64 {
		return coretest.One[int64](t, s.DB, `SELECT count(*) FROM api_tokens`)
	}
	before := tokens()
	if again := seed(); again.Dashboard != first.Dashboard || again.Orgs[1] != first.Orgs[1] || tokens() != before {
		t.Errorf("again = %+v with %d tokens, want %+v with %d", again, tokens(), first, before)
	}
	if status := signIn(first.Dashboard.Password); status != http.StatusSeeOther {
		t.Errorf("sign-in with the printed password = %d, want 303", status)
	}
	s.Must(t, http.StatusOK, call{Path: "/api/me/", Token: first.Orgs[0].Tokens.Viewer})

	// A token that was revoked stays so, and the one in its place is printed from then on.
	s.Exec(t, `UPDATE api_tokens SET revoked_at = now() WHERE digest = sha256($1::bytea)`,
		[]byte(first.Orgs[0].Tokens.Owner))
	fresh := seed()
	if fresh.Orgs[0].Tokens.Owner == first.Orgs[0].Tokens.Owner || fresh.Orgs[0] != seed().Orgs[0] {
		t.Error("the token in place of a revoked one is not new, or not kept")
	}
	s.Refused(t, "not_authenticated", call{Path: "/api/me/", Token: first.Orgs[0].Tokens.Owner})

	// A password that the visitor has chosen is kept.
	const chosen = "a password of my own"
	user, err := s.Users.Accounts.User(t.Context(), first.Dashboard.Email)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Users.SignIn.SetPassword(t.Context(), user.ID, chosen); err != nil {
		t.Fatal(err)
	}
	if kept := seed(); kept.Dashboard.Password != "" || signIn(chosen) != http.StatusSeeOther {
		t.Errorf("printed %q, want nothing and the chosen password kept", kept.Dashboard.Password)
	}
	if text := c.Must(t, "seed", "--demo"); !strings.Contains(text, "--reset-password") {
		t.Errorf("printed %s, want how to set a new password", text)
	}
	if reset := seed("--reset-password"); signIn(reset.Dashboard.Password) != http.StatusSeeOther {
		t.Error("the new password does not sign in")
	}
}
