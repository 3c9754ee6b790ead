package users_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/api"
)

func TestLastOwner(t *testing.T) {
	t.Parallel()

	t.Run("IsNotDemotedByTheOperatorEither", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		org := b.org(t, "org", 1)
		owner := b.member(t, org, "owner@org.example", api.RoleOwner)
		err := b.service.SetMembership(t.Context(), org, owner, api.RoleAdmin)
		if !errors.Is(err, api.CodeLastOwner) {
			t.Errorf("SetMembership = %v, want %s", err, api.CodeLastOwner)
		}
		other := b.member(t, org, "other@org.example", api.RoleOwner)
		if err := b.service.SetMembership(t.Context(), org, owner, api.RoleAdmin); err != nil {
			t.Errorf("SetMembership with another owner = %v, want no error", err)
		}
		if err := b.service.SetMembership(t.Context(), org, other, api.RoleOwner); err != nil {
			t.Errorf("SetMembership to the same role = %v, want no error", err)
		}
	})

	t.Run("StaysWhenAllOwnersLeaveAtOnce", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		org := b.org(t, "org", 1)
		const owners, rounds = 4, 20
		var members []uuid.UUID
		for _, name := range []string{"a", "b", "c", "d"} {
			members = append(members, b.member(t, org, name+"@org.example", api.RoleOwner))
		}
		for round := range rounds {
			var group sync.WaitGroup
			var refused atomic.Int64
			for _, member := range members {
				group.Go(func() {
					err := b.service.SetMembership(t.Context(), org, member, api.RoleViewer)
					if errors.Is(err, api.CodeLastOwner) {
						refused.Add(1)
					} else if err != nil {
						t.Errorf("SetMembership = %v, want no error or %s", err, api.CodeLastOwner)
					}
				})
			}
			group.Wait()
			left := one[int64](t, b, `SELECT count(*) FROM memberships WHERE role = 'owner'`)
			if left != 1 || refused.Load() != 1 {
				t.Fatalf("round %d: %d of %d owners are left and %d were refused, want 1 and 1",
					round, left, owners, refused.Load())
			}
			b.exec(t, `UPDATE memberships SET role = 'owner'`)
		}
	})

	t.Run("GoesWithTheOrganization", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		org := b.org(t, "org", 1)
		b.member(t, org, "owner@org.example", api.RoleOwner)
		b.exec(t, `DELETE FROM organizations WHERE id = $1`, org)
		if n := one[int64](t, b, `SELECT count(*) FROM memberships`); n != 0 {
			t.Errorf("memberships = %d, want 0", n)
		}
	})
}
