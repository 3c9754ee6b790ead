package users_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/users/access"
)

// Nobody gets further than its INSERT until all have begun, because that checks the user's row.
func TestTokenLimitHoldsForManyAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	// The pool has connections for these, for the lock and for a look at who waits.
	const limit, tries = 3, 6
	org := b.org(t, "org", -1)
	member, other := b.member(t, org, "a@b.example", api.RoleOwner), b.member(t, org, "c@d.example", api.RoleViewer)
	if err := b.service.SetTokenLimit(t.Context(), org, limit); err != nil {
		t.Fatal(err)
	}
	request := access.TokenRequest{OrgID: org, UserID: member, Label: "l", Role: api.RoleViewer}
	var made atomic.Int64
	var group sync.WaitGroup
	_, err := db.InTx(t.Context(), b.db, func(tx db.Tx) (int, error) {
		if _, err := tx.Exec(t.Context(), `SELECT FROM users WHERE id = $1 FOR UPDATE`, member); err != nil {
			return 0, err
		}
		for range tries {
			group.Go(func() {
				switch _, err := b.service.Access.CreateToken(t.Context(), request); {
				case err == nil:
					made.Add(1)
				case !errors.Is(err, api.CodeTooManyTokens):
					t.Errorf("CreateToken = %v, want %s", err, api.CodeTooManyTokens)
				}
			})
		}
		coretest.Eventually(t, func() bool {
			return one[int](t, b, `SELECT count(*) FROM pg_stat_activity
				WHERE wait_event_type = 'Lock' AND datname = current_database()`) == tries
		})
		return 0, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	group.Wait()
	if got := made.Load(); got != limit {
		t.Errorf("tokens made = %d of %d, want %d", got, tries, limit)
	}
	request.UserID = other
	b.token(t, request)
}

func TestTokenLimitCountsATokenThatIsBeingIssued(t *testing.T) {
	t.Parallel()
	b := setup(t)
	org := b.org(t, "org", -1)
	member := b.member(t, org, "a@b.example", api.RoleOwner)
	if err := b.service.SetTokenLimit(t.Context(), org, 1); err != nil {
		t.Fatal(err)
	}
	second := make(chan error, 1)
	_, err := db.InTx(t.Context(), b.db, func(tx db.Tx) (int, error) {
		// What another request for a token does until it commits.
		if _, err := tx.Exec(t.Context(), `
			WITH member AS (
				SELECT org_id, user_id FROM memberships WHERE org_id = $1 AND user_id = $2 FOR NO KEY UPDATE)
			INSERT INTO api_tokens (org_id, id, user_id, digest, prefix, label, role)
			SELECT org_id, gen_random_uuid(), user_id, sha256('x'), 'sv_', 'first', 'viewer' FROM member`,
			org, member); err != nil {
			return 0, err
		}
		go func() {
			_, err := b.service.Access.CreateToken(t.Context(), access.TokenRequest{
				OrgID: org, UserID: member, Label: "second", Role: api.RoleViewer,
			})
			second <- err
		}()
		coretest.Eventually(t, func() bool {
			return one[int](t, b, `SELECT count(*) FROM pg_stat_activity
				WHERE wait_event_type = 'Lock' AND datname = current_database()`) > 0 || len(second) > 0
		})
		return 0, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-second; !errors.Is(err, api.CodeTooManyTokens) {
		t.Errorf("second token = %v, want %s", err, api.CodeTooManyTokens)
	}
}

func TestSetTokenLimit(t *testing.T) {
	t.Parallel()
	b := setup(t)
	org := b.org(t, "org", -1)
	for _, wrong := range []int{-1, 0, 10001} {
		if err := b.service.SetTokenLimit(t.Context(), org, wrong); !errors.Is(err, api.CodeInvalidPayload) {
			t.Errorf("SetTokenLimit(%d) = %v, want %s", wrong, err, api.CodeInvalidPayload)
		}
	}
	if err := b.service.SetTokenLimit(t.Context(), org, 1); err != nil {
		t.Fatal(err)
	}
	detail := one[string](t, b, `SELECT detail FROM audit_records WHERE action = 'organization.set_tokens'`)
	if detail != "1 active token for each member" {
		t.Errorf("the audit record says %q", detail)
	}
}
