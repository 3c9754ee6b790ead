package users_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/users"
)

func TestTokenLimitHoldsForManyAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const limit, tries = 3, 12
	org := b.org(t, "org", -1)
	member, other := b.member(t, org, "a@b.example", core.RoleOwner), b.member(t, org, "c@d.example", core.RoleViewer)
	if err := b.service.SetTokenLimit(t.Context(), org, limit); err != nil {
		t.Fatal(err)
	}
	request := users.TokenRequest{OrgID: org, UserID: member, Label: "l", Role: core.RoleViewer}
	var made atomic.Int64
	var group sync.WaitGroup
	for range tries {
		group.Go(func() {
			switch _, err := b.service.CreateToken(t.Context(), request); {
			case err == nil:
				made.Add(1)
			case !core.HasCode(err, core.CodeTooManyTokens):
				t.Errorf("CreateToken = %v, want %s", err, core.CodeTooManyTokens)
			}
		})
	}
	group.Wait()
	if got := made.Load(); got != limit {
		t.Errorf("tokens made = %d of %d, want %d", got, tries, limit)
	}
	request.UserID = other
	b.token(t, request)
}

func TestSetTokenLimit(t *testing.T) {
	t.Parallel()
	b := setup(t)
	org := b.org(t, "org", -1)
	for _, wrong := range []int{-1, 0, 10001} {
		if err := b.service.SetTokenLimit(t.Context(), org, wrong); !core.HasCode(err, core.CodeInvalidPayload) {
			t.Errorf("SetTokenLimit(%d) = %v, want %s", wrong, err, core.CodeInvalidPayload)
		}
	}
	if err := b.service.SetTokenLimit(t.Context(), org, 1); err != nil {
		t.Fatal(err)
	}
	if !one[bool](t, b, `SELECT action = 'organization.set_tokens' AND detail = '1 active token for each member'
			FROM audit_records`) {
		t.Error("the audit record does not say what the operator did")
	}
}
