package cmd_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	dbtest "github.com/simplevalidations/simplevalidations/core/coretest"
)

// acme is a stage with a command line and one more organization.
func acme(tb testing.TB) (*stage, fixture.Console) {
	tb.Helper()
	s := setup(tb)
	operator := s.Console(tb)
	operator.Must(tb, "org", "create", "acme")
	return s, operator
}

// wantError runs a command line that is to fail with every part in its message.
func wantError(tb testing.TB, operator fixture.Console, parts []string, args ...string) {
	tb.Helper()
	code, out, complaint := operator.Run(tb, args...)
	if code == 0 {
		tb.Fatalf("%v printed %q, want an error", args, out)
	}
	for _, part := range parts {
		if !strings.Contains(complaint, part) {
			tb.Errorf("%v = %q, want it to name %s", args, complaint, part)
		}
	}
}

func TestUserCommands(t *testing.T) {
	t.Parallel()
	s, operator := acme(t)
	const roleOf = `SELECT coalesce(string_agg(m.role, ','), 'none') FROM users AS u
		LEFT JOIN memberships AS m ON m.user_id = u.id WHERE u.email = $1`

	t.Run("CreateMakesAMemberOrNothing", func(t *testing.T) {
		t.Parallel()
		const email = "b@acme.example"
		wantError(t, operator, []string{"role"}, "user", "create", email, "--org", "acme", "--role", "bogus")
		wantError(t, operator, []string{`organization "acne"`}, "user", "create", email, "--org", "acne")
		operator.Must(t, "user", "create", email, "--org", "acme", "--role", "author")
		if role := dbtest.One[string](t, s.DB, roleOf, email); role != "author" {
			t.Errorf("role = %s, want author", role)
		}
	})

	t.Run("SetMakesAMemberAndChangesTheRole", func(t *testing.T) {
		t.Parallel()
		const email = "c@acme.example"
		wantError(t, operator, []string{`user "` + email}, "user", "set", email, "--org", "acme", "--role", "viewer")
		operator.Must(t, "user", "create", email)
		wantError(t, operator, []string{"role"}, "user", "set", email, "--org", "acme")
		for _, role := range []string{"viewer", "admin"} {
			operator.Must(t, "user", "set", email, "--org", "acme", "--role", role)
			if got := dbtest.One[string](t, s.DB, roleOf, email); got != role {
				t.Errorf("role = %s, want %s", got, role)
			}
		}
	})

	t.Run("TokenNeedsItsFlags", func(t *testing.T) {
		t.Parallel()
		wantError(t, operator, []string{"org", "user"}, "admin", "token", "create")
	})

	t.Run("TokenPrintsASecretThatWorks", func(t *testing.T) {
		t.Parallel()
		operator.Must(t, "user", "create", "in@acme.example", "--org", "acme", "--role", "author")
		secret := strings.TrimSpace(operator.Must(t,
			"admin", "token", "create", "--org", "acme", "--user", "in@acme.example"))
		me := s.Must(t, http.StatusOK, call{Path: "/api/me/", Token: secret})
		if !strings.Contains(string(me.Body), `"role":"executor"`) {
			t.Errorf("the caller is %s, want the executor of acme", me.Body)
		}
	})

	t.Run("TokenRefusesWhoIsNoMember", func(t *testing.T) {
		t.Parallel()
		operator.Must(t, "user", "create", "out@acme.example")
		wantError(t, operator, []string{"not a member of acme", "user set out@acme.example --org acme --role"},
			"admin", "token", "create", "--org", "acme", "--user", "out@acme.example")
		if n := dbtest.One[int64](t, s.DB, `SELECT count(*) FROM api_tokens JOIN users ON users.id = user_id
			WHERE email = 'out@acme.example'`); n != 0 {
			t.Errorf("tokens = %d, want 0", n)
		}
	})
}

func TestSetKeys(t *testing.T) {
	t.Parallel()
	s, operator := acme(t)
	const stored = `SELECT key_required::text || ' ' || coalesce(key_lifetime::text, '-') FROM organizations
		WHERE slug = 'acme'`
	for _, tt := range []struct{ flags, want string }{
		{"--key-required --key-lifetime 72h", "true 72:00:00"},
		{"--key-required=false --key-lifetime 1m", "false 00:01:00"},
		{"--key-required --key-lifetime 0", "true -"},
	} {
		operator.Must(t, append([]string{"org", "set", "acme"}, strings.Fields(tt.flags)...)...)
		if got := dbtest.One[string](t, s.DB, stored); got != tt.want {
			t.Errorf("%q stored %q, want %q", tt.flags, got, tt.want)
		}
	}
	// Either flag alone would turn off what the other one had set.
	wantError(t, operator, nil, "org", "set", "acme", "--key-lifetime", "72h")
	wantError(t, operator, nil, "org", "set", "acme", "--key-required=false")
	wantError(t, operator, nil, "org", "set", "acme", "--key-required", "--key-lifetime", "59s")
	if got := dbtest.One[string](t, s.DB, stored); got != "true -" {
		t.Errorf("stored after refusals = %q, want what was there", got)
	}
}

func TestSetSecondFactor(t *testing.T) {
	t.Parallel()
	s, operator := acme(t)
	for flag, want := range map[string]string{
		"--second-factor-required": "required", "--second-factor-required=false": "optional",
	} {
		if out := operator.Must(t, "org", "set", "acme", flag); !strings.Contains(out, "a second factor is "+want) {
			t.Errorf("%s printed %q", flag, out)
		}
		stored := dbtest.One[bool](t, s.DB, `SELECT second_factor_required FROM organizations WHERE slug = 'acme'`)
		if stored != (want == "required") {
			t.Errorf("%s stored %t", flag, stored)
		}
	}
}

func TestSetRetention(t *testing.T) {
	t.Parallel()
	s, operator := acme(t)
	const stored = `
		SELECT coalesce(content_retention::text, '-') || ' ' || coalesce(findings_retention::text, '-')
		FROM organizations WHERE slug = 'acme'`
	for _, tt := range []struct{ flags, want, said string }{
		{
			"--content-retention 72h --findings-retention 2160h", "72:00:00 2160:00:00",
			"documents 72h0m0s, findings 2160h0m0s",
		},
		{
			"--content-retention forever --findings-retention default", "00:00:00 -",
			"documents forever, findings by default",
		},
		{
			"--content-retention default --findings-retention 1h", "- 01:00:00",
			"documents by default, findings 1h0m0s",
		},
		{
			"--content-retention default --findings-retention default", "- -",
			"documents by default, findings by default",
		},
	} {
		out := operator.Must(t, append([]string{"org", "set", "acme"}, strings.Fields(tt.flags)...)...)
		if want := "acme: " + tt.said + "\n"; out != want {
			t.Errorf("%q printed %q, want %q", tt.flags, out, want)
		}
		if got := dbtest.One[string](t, s.DB, stored); got != tt.want {
			t.Errorf("%q stored %q, want %q", tt.flags, got, tt.want)
		}
	}
	for _, wrong := range []string{"59m", "-72h", "0", "soon", "900000h"} {
		wantError(t, operator, nil,
			"org", "set", "acme", "--findings-retention", "default", "--content-retention", wrong)
	}
	wantError(t, operator, nil, "org", "set", "acme", "--content-retention", "1h")
	wantError(t, operator, nil, "org", "set", "acme", "--findings-retention", "1h")
	const audits = `SELECT count(*) FROM audit_records WHERE action = 'organization.set_retention'`
	if got := dbtest.One[int64](t, s.DB, audits); got != 4 {
		t.Errorf("audit records = %d, want 4", got)
	}
}
