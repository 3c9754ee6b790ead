package users_test

import (
	"crypto/sha256"
	"errors"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/users"
	"github.com/simplevalidations/simplevalidations/users/access"
	"github.com/simplevalidations/simplevalidations/users/account"
)

func TestToken(t *testing.T) {
	t.Parallel()
	b := setup(t)
	org := b.org(t, "org", 1)
	user := b.member(t, org, "a@org.example", api.RoleAuthor)
	request := access.TokenRequest{OrgID: org, UserID: user, Label: "ci", Role: api.RoleOwner}

	t.Run("IsKeptAsDigestOnly", func(t *testing.T) {
		t.Parallel()
		secret := b.token(t, request)
		sum := sha256.Sum256([]byte(secret))
		row := one[string](t, b, `SELECT t::text FROM api_tokens AS t WHERE digest = $1`, sum[:])
		if strings.Contains(row, secret[10:]) {
			t.Errorf("the row has the secret: %s", row)
		}
		if prefix := one[string](t, b, `SELECT prefix FROM api_tokens WHERE digest = $1`,
			sum[:]); prefix != secret[:10] {
			t.Errorf("prefix = %q, want %q", prefix, secret[:10])
		}
		if audits := one[string](t, b, `SELECT string_agg(a::text, ' ') FROM audit_records AS a`); strings.Contains(
			audits, secret[10:]) || !strings.Contains(audits, "token.create") {
			t.Error("the audit records have the secret, or nothing of the token")
		}
	})

	t.Run("IsLongAndNeverTheSame", func(t *testing.T) {
		t.Parallel()
		first, second := b.token(t, request), b.token(t, request)
		if !strings.HasPrefix(first, "svt_") || len(first) != 53 || first == second {
			t.Errorf("secrets = %q, %q, want two long ones that begin with svt_", first, second)
		}
	})

	t.Run("WorksWithoutAChecksumIfItIsOlder", func(t *testing.T) {
		t.Parallel()
		old, digest := account.NewSecret()
		b.exec(t, `INSERT INTO api_tokens (org_id, id, user_id, digest, prefix, label, role)
			VALUES ($1, gen_random_uuid(), $2, $3, 'sv_', 'old', 'viewer')`, org, user, digest)
		if got, err := b.authenticate(t, old); err != nil || got.UserID != user {
			t.Errorf("holder of the old token = %+v, %v, want its user", got, err)
		}
	})

	t.Run("MayDoNothingWithoutMembership", func(t *testing.T) {
		t.Parallel()
		left := b.member(t, org, "left@org.example", api.RoleAdmin)
		secret := b.token(t, access.TokenRequest{OrgID: org, UserID: left, Label: "left", Role: api.RoleOwner})
		b.exec(t, `DELETE FROM memberships WHERE user_id = $1`, left)
		b.wantRefused(t, secret, api.CodePermissionDenied)
		if err := b.service.SetMembership(t.Context(), org, left, api.RoleViewer); err != nil {
			t.Fatal(err)
		}
		if got, err := b.authenticate(t, secret); err != nil || got.Role != api.RoleViewer {
			t.Errorf("after the return: role = %s, %v, want viewer", got.Role, err)
		}
	})
}

func (b *testBundle) wantRefused(tb testing.TB, secret string, code api.Code) {
	tb.Helper()
	if got, err := b.authenticate(tb, secret); !errors.Is(err, code) {
		tb.Errorf("authenticate = %+v, %v, want %s", got, err, code)
	}
}

func TestFlushLastUse(t *testing.T) {
	t.Parallel()
	b := setup(t)
	org := b.org(t, "org", 1)
	user := b.member(t, org, "a@org.example", api.RoleViewer)
	used := b.token(t, access.TokenRequest{OrgID: org, UserID: user, Label: "used", Role: api.RoleViewer})
	b.token(t, access.TokenRequest{OrgID: org, UserID: user, Label: "idle", Role: api.RoleViewer})
	for range 3 {
		if _, err := b.authenticate(t, used); err != nil {
			t.Fatal(err)
		}
	}
	if n := one[int64](t, b, `SELECT count(last_used_at) FROM api_tokens`); n != 0 {
		t.Errorf("times of last use before the flush = %d, want 0: requests write nothing", n)
	}
	flush := func() {
		if n, err := b.service.Access.FlushLastUse(t.Context()); n != 0 || err != nil {
			t.Fatalf("FlushLastUse = %d, %v, want 0: it always catches up", n, err)
		}
	}
	flush()
	if got := one[string](t, b, `SELECT coalesce(string_agg(label, ', '), '') FROM api_tokens
		WHERE last_used_at IS NOT NULL`); got != "used" {
		t.Errorf("tokens with a time of last use = %q, want the used one alone", got)
	}
	b.exec(t, `UPDATE api_tokens SET last_used_at = NULL`)
	flush()
	if n := one[int64](t, b, `SELECT count(last_used_at) FROM api_tokens`); n != 0 {
		t.Errorf("times of last use after a flush without requests = %d, want 0", n)
	}
}

func TestOrganization(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.org(t, "harbour", 5)

	t.Run("IsFoundBySlug", func(t *testing.T) {
		t.Parallel()
		got, err := b.service.Organization(t.Context(), "harbour")
		if err != nil || got.ID != id || *got.RunQuota != 5 {
			t.Errorf("Organization = %+v, %v, want %s", got, err, id)
		}
		if _, err := b.service.Organization(t.Context(), "nobody"); !errors.Is(err, api.CodeNotFound) {
			t.Errorf("Organization of nobody = %v, want %s", err, api.CodeNotFound)
		}
	})

	t.Run("IsEnsuredOnce", func(t *testing.T) {
		t.Parallel()
		got, err := b.service.EnsureOrganization(t.Context(), "harbour", "Other", nil)
		if err != nil || got.ID != id || got.Name != "harbour" {
			t.Errorf("EnsureOrganization = %+v, %v, want the one that is there", got, err)
		}
		if _, err := b.service.CreateOrganization(t.Context(), "harbour", "Other", nil); err == nil {
			t.Error("two organizations have one slug")
		}
	})

	for _, slug := range []string{"", "-a", "A", "a b", "ä", "a_b", strings.Repeat("a", 64), "a\n"} {
		t.Run("RefusesTheSlug"+slug[:min(len(slug), 5)], func(t *testing.T) {
			t.Parallel()
			_, err := b.service.CreateOrganization(t.Context(), slug, "Name", nil)
			if !errors.Is(err, api.CodeInvalidPayload) {
				t.Errorf("CreateOrganization(%q) = %v, want %s", slug, err, api.CodeInvalidPayload)
			}
		})
	}
}

func TestUser(t *testing.T) {
	t.Parallel()
	b := setup(t)
	user, err := b.service.Accounts.CreateUser(t.Context(), " Ann@Org.Example ", "Ann", "a long password")
	if err != nil {
		t.Fatal(err)
	}
	if user.Email != "ann@org.example" {
		t.Errorf("email = %q, want it in lower case without spaces", user.Email)
	}
	if found, err := b.service.Accounts.User(t.Context(), "ANN@org.example"); err != nil || found.ID != user.ID {
		t.Errorf("User = %+v, %v, want %s", found, err, user.ID)
	}
	hash := one[string](t, b, `SELECT password_hash FROM users`)
	const cost = "$argon2id$v=19$m=65536,t=1,p="
	if !strings.HasPrefix(hash, cost) || strings.Contains(hash, "a long password") {
		t.Errorf("password_hash = %q, want it to begin with %s", hash, cost)
	}
	if _, err := b.service.Accounts.CreateUser(t.Context(), "ann@org.example", "", ""); err == nil {
		t.Error("two users have one address")
	}
	again, err := b.service.Accounts.EnsureUser(t.Context(), "ann@org.example", "Other")
	if err != nil || again.ID != user.ID {
		t.Errorf("EnsureUser = %+v, %v, want the one that is there", again, err)
	}
	for _, email := range []string{"", "ann", "@", "a@", strings.Repeat("a", 250) + "@x.example"} {
		_, err := b.service.Accounts.CreateUser(t.Context(), email, "", "")
		if !errors.Is(err, api.CodeInvalidPayload) {
			t.Errorf("CreateUser(%q) = %v, want %s", email, err, api.CodeInvalidPayload)
		}
	}
	if _, err := b.service.Accounts.User(t.Context(), "nobody@org.example"); !errors.Is(err, api.CodeNotFound) {
		t.Errorf("User of nobody = %v, want %s", err, api.CodeNotFound)
	}
}

func TestCreateMember(t *testing.T) {
	t.Parallel()
	b := setup(t)
	org := b.org(t, "org", 1)
	request := users.MemberRequest{OrgID: org, Role: api.RoleAuthor, Email: "b@org.example"}
	for name, change := range map[string]func(*users.MemberRequest){
		"Role":         func(r *users.MemberRequest) { r.Role = "bogus" },
		"Organization": func(r *users.MemberRequest) { r.OrgID = uuid.New() },
		"Email":        func(r *users.MemberRequest) { r.Email = "b" },
	} {
		wrong := request
		change(&wrong)
		if _, err := b.service.CreateMember(t.Context(), wrong); err == nil {
			t.Errorf("CreateMember with a wrong %s = nil, want an error", name)
		}
		if n := one[int64](t, b, `SELECT count(*) FROM users`); n != 0 {
			t.Errorf("users after a wrong %s = %d, want 0", name, n)
		}
	}
	user, err := b.service.CreateMember(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	if role := one[string](t, b, `SELECT role FROM memberships WHERE user_id = $1`, user.ID); role != "author" {
		t.Errorf("role = %s, want author", role)
	}
}

func TestSetMembership(t *testing.T) {
	t.Parallel()
	b := setup(t)
	org := b.org(t, "org", 1)
	user := b.member(t, org, "a@org.example", api.RoleViewer)
	if err := b.service.SetMembership(t.Context(), org, user, api.RoleAdmin); err != nil {
		t.Fatal(err)
	}
	if role := one[string](t, b, `SELECT role FROM memberships`); role != "admin" {
		t.Errorf("role = %s, want admin", role)
	}
	for _, role := range []api.Role{"", "king", "Owner"} {
		if err := b.service.SetMembership(t.Context(), org, user, role); !errors.Is(err, api.CodeInvalidPayload) {
			t.Errorf("SetMembership(%q) = %v, want %s", role, err, api.CodeInvalidPayload)
		}
	}
	if err := b.service.SetMembership(t.Context(), org, uuid.New(), api.RoleOwner); err == nil {
		t.Error("nobody became a member")
	}
}
