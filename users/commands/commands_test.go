package commands_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/users/commands"
)

// run runs a command line and returns what it prints.
func (b *testBundle) run(tb testing.TB, args ...string) (string, error) {
	tb.Helper()
	root := &cobra.Command{Use: "test", SilenceErrors: true, SilenceUsage: true}
	root.AddCommand(commands.Commands(func(
		ctx context.Context, do func(context.Context, *commands.Service) error,
	) error {
		return do(ctx, b.service)
	})...)
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetArgs(args)
	err := root.ExecuteContext(tb.Context())
	return out.String(), err
}

// wantError runs a command line that is to fail with every part in its message.
func (b *testBundle) wantError(tb testing.TB, parts []string, args ...string) {
	tb.Helper()
	out, err := b.run(tb, args...)
	if err == nil {
		tb.Fatalf("%v printed %q, want an error", args, out)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			tb.Errorf("%v = %q, want it to name %s", args, err, part)
		}
	}
}

func (b *testBundle) mustRun(tb testing.TB, args ...string) string {
	tb.Helper()
	out, err := b.run(tb, args...)
	if err != nil {
		tb.Fatalf("%v: %v", args, err)
	}
	return out
}

func TestUserCommands(t *testing.T) {
	t.Parallel()

	t.Run("CreateMakesAMemberOrNothing", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.org(t)
		b.wantError(t, []string{"role"}, "user", "create", "b@acme.example", "--org", "acme", "--role", "bogus")
		b.wantError(t, []string{`organization "acne"`}, "user", "create", "b@acme.example", "--org", "acne")
		b.mustRun(t, "user", "create", "b@acme.example", "--org", "acme", "--role", "author")
		if role := one[string](t, b, `SELECT role FROM memberships`); role != "author" {
			t.Errorf("role = %s, want author", role)
		}
	})

	t.Run("AddMakesAMemberAndChangesTheRole", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.org(t)
		b.wantError(t, []string{`user "b@acme.example"`},
			"user", "add", "b@acme.example", "--org", "acme", "--role", "viewer")
		b.mustRun(t, "user", "create", "b@acme.example")
		b.wantError(t, []string{"role"}, "user", "add", "b@acme.example", "--org", "acme")
		for _, role := range []string{"viewer", "admin"} {
			b.mustRun(t, "user", "add", "b@acme.example", "--org", "acme", "--role", role)
			if got := one[string](t, b, `SELECT role FROM memberships`); got != role {
				t.Errorf("role = %s, want %s", got, role)
			}
		}
	})
}

func TestTokenCommand(t *testing.T) {
	t.Parallel()
	b := setup(t)
	org := b.org(t)
	b.member(t, org, "in@acme.example", core.RoleAuthor)
	b.mustRun(t, "user", "create", "out@acme.example")

	t.Run("NeedsItsFlags", func(t *testing.T) {
		t.Parallel()
		b.wantError(t, []string{"org", "user"}, "token", "create")
	})

	t.Run("PrintsASecretThatWorks", func(t *testing.T) {
		t.Parallel()
		secret := strings.TrimSpace(b.mustRun(t, "token", "create", "--org", "acme", "--user", "in@acme.example"))
		if got, err := b.authenticate(t, secret); err != nil || got.Role != core.RoleExecutor {
			t.Errorf("role = %s, %v, want executor", got.Role, err)
		}
	})

	t.Run("RefusesWhoIsNoMember", func(t *testing.T) {
		t.Parallel()
		b.wantError(t, []string{"not a member of acme", "user add out@acme.example --org acme --role"},
			"token", "create", "--org", "acme", "--user", "out@acme.example")
		if n := one[int64](t, b, `SELECT count(*) FROM api_tokens JOIN users ON users.id = user_id
			WHERE email = 'out@acme.example'`); n != 0 {
			t.Errorf("tokens = %d, want 0", n)
		}
	})
}

func TestSetKeysCommand(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.org(t)
	const stored = `SELECT key_required::text || ' ' || coalesce(key_lifetime::text, '-') FROM organizations`
	for _, tt := range []struct{ flags, want string }{
		{"--required --lifetime 72h", "true 72:00:00"},
		{"--required=false --lifetime 1m", "false 00:01:00"},
		{"--required --lifetime 0", "true -"},
	} {
		b.mustRun(t, append([]string{"org", "set-keys", "acme"}, strings.Fields(tt.flags)...)...)
		if got := one[string](t, b, stored); got != tt.want {
			t.Errorf("%q stored %q, want %q", tt.flags, got, tt.want)
		}
	}
	// Either flag alone would turn off what the other one had set.
	b.wantError(t, nil, "org", "set-keys", "acme", "--lifetime", "72h")
	b.wantError(t, nil, "org", "set-keys", "acme", "--required=false")
	b.wantError(t, nil, "org", "set-keys", "acme", "--required", "--lifetime", "59s")
	if got := one[string](t, b, stored); got != "true -" {
		t.Errorf("stored after refusals = %q, want what was there", got)
	}
}
