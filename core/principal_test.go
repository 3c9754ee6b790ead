package core_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
)

func TestRoles(t *testing.T) {
	t.Parallel()
	roles := api.Roles()
	want := []api.Role{"viewer", "executor", "author", "admin", "owner"}
	if !slices.Equal(roles, want) {
		t.Fatalf("Roles = %v, want %v", roles, want)
	}
	for i, role := range roles {
		for j, needed := range roles {
			if got := role.Allows(needed); got != (i >= j) {
				t.Errorf("%s.Allows(%s) = %t, want %t", role, needed, got, i >= j)
			}
			if got := role.Lesser(needed); got != roles[min(i, j)] {
				t.Errorf("%s.Lesser(%s) = %s, want %s", role, needed, got, roles[min(i, j)])
			}
		}
	}
	for _, unknown := range []api.Role{"", "king", "Owner", "owner "} {
		for _, needed := range roles {
			if unknown.Allows(needed) {
				t.Errorf("%q allows %s, want nothing allowed", unknown, needed)
			}
			if unknown.Lesser(needed).Allows(needed) || needed.Lesser(unknown).Allows(needed) {
				t.Errorf("the lesser of %q and %s allows %s", unknown, needed, needed)
			}
		}
	}
}

func TestPrincipalRequire(t *testing.T) {
	t.Parallel()
	executor := core.Principal{Role: api.RoleExecutor}
	if err := executor.Require(api.RoleExecutor, "start runs"); err != nil {
		t.Errorf("Require of the own role = %v, want nil", err)
	}
	if err := executor.Require(api.RoleAuthor, "edit"); !errors.Is(err, api.CodePermissionDenied) {
		t.Errorf("Require of more = %v, want %s", err, api.CodePermissionDenied)
	}
	for needed, want := range map[api.Role]string{
		api.RoleAdmin: "this requires admin or higher. Ask an administrator of the organization.",
		api.RoleOwner: "this requires owner. Ask an owner of the organization.",
	} {
		if err := executor.Require(needed, "pay"); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("Require(%s) = %v, want it to end with %q", needed, err, want)
		}
	}
	if err := (core.Principal{}).Require(api.RoleViewer, "read"); err == nil {
		t.Error("a principal without a role may read")
	}
}

func TestPrincipalOfARequest(t *testing.T) {
	t.Parallel()
	if _, ok := core.PrincipalFrom(t.Context()); ok {
		t.Error("a context without a principal has one")
	}
	want := core.Principal{Email: "a@example", Role: api.RoleOwner}
	if got, ok := core.PrincipalFrom(core.WithPrincipal(t.Context(), want)); !ok || got != want {
		t.Errorf("PrincipalFrom = %+v, %t, want %+v", got, ok, want)
	}
	if got := core.RequestID(core.WithRequestID(t.Context(), "r")); got != "r" || core.RequestID(t.Context()) != "" {
		t.Errorf("RequestID = %q, want r inside of a request and nothing outside", got)
	}
}
