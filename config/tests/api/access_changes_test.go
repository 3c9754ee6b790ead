package api

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/config"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/users/access"
	"github.com/simplevalidations/simplevalidations/workflows"
)

// accessCast is an organization of its own with one executor and one workflow, "readings".
type accessCast struct {
	orgID  uuid.UUID
	userID uuid.UUID
	secret string
}

func (s *stage) accessCast(tb testing.TB) accessCast {
	tb.Helper()
	name := "access-" + uuid.NewString()
	org, err := s.Users.CreateOrganization(tb.Context(), name, name, nil)
	if err != nil {
		tb.Fatalf("create organization: %v", err)
	}
	user, err := s.Users.Accounts.CreateUser(tb.Context(), name+"@example.org", "Ada", "")
	if err != nil {
		tb.Fatalf("create user: %v", err)
	}
	if err := s.Users.SetMembership(tb.Context(), org.ID, user.ID, api.RoleExecutor); err != nil {
		tb.Fatalf("set membership: %v", err)
	}
	secret, err := s.Users.Access.CreateToken(tb.Context(), access.TokenRequest{
		OrgID: org.ID, UserID: user.ID, Label: "access", Role: api.RoleExecutor,
	})
	if err != nil {
		tb.Fatalf("create token: %v", err)
	}
	original, err := s.Workflows.Find(tb.Context(), s.Harbour.ID, "meter-readings", 0)
	if err != nil {
		tb.Fatalf("find workflow: %v", err)
	}
	s.AddWorkflow(tb, config.DemoOrg{ID: org.ID}, workflows.Draft{
		Slug: "readings", Name: "Readings", IsActive: true, Definition: original.Definition,
	})
	return accessCast{orgID: org.ID, userID: user.ID, secret: secret}
}

func (c accessCast) start(tb testing.TB, s *stage) call {
	tb.Helper()
	return s.Start(tb, "").By(c.secret).To("/api/workflows/readings/start/")
}

func (c accessCast) me() call { return call{Path: "/api/me/", Token: c.secret} }

// The statements are those of another process: this one hears of them from the database alone.
func TestChangesOfAccessCountAtOnce(t *testing.T) {
	t.Parallel()
	s := setup(t)
	startIs := func(code api.Code) func(testing.TB, accessCast) {
		return func(tb testing.TB, c accessCast) { tb.Helper(); s.Refused(tb, code, c.start(tb, s)) }
	}
	meSays := func(name string) func(testing.TB, accessCast) {
		return func(tb testing.TB, c accessCast) {
			tb.Helper()
			if me := string(s.Must(tb, http.StatusOK, c.me()).Body); !strings.Contains(me, `"name":"`+name+`"`) {
				tb.Errorf("me = %s, want the name %s", me, name)
			}
		}
	}
	startsVersion2 := func(tb testing.TB, c accessCast) {
		tb.Helper()
		if got := s.Started(tb, c.start(tb, s)).WorkflowVersion; got != 2 {
			tb.Errorf("version = %d, want the new one", got)
		}
	}
	for name, tt := range map[string]struct {
		// change has ORG and USER for the ids of the organization and of its user.
		change string
		check  func(testing.TB, accessCast)
	}{
		"TokenRevoked": {
			`UPDATE api_tokens SET revoked_at = now() WHERE org_id = ORG`, startIs(api.CodeNotAuthenticated),
		},
		"TokenExpired": {
			`UPDATE api_tokens SET expires_at = now() WHERE org_id = ORG`, startIs(api.CodeNotAuthenticated),
		},
		"TokenDeleted": {`DELETE FROM api_tokens WHERE org_id = ORG`, startIs(api.CodeNotAuthenticated)},
		"TokenWeaker": {
			`UPDATE api_tokens SET role = 'viewer' WHERE org_id = ORG`, startIs(api.CodePermissionDenied),
		},
		"MemberWeaker": {
			`UPDATE memberships SET role = 'viewer' WHERE org_id = ORG`, startIs(api.CodePermissionDenied),
		},
		"MemberGone":  {`DELETE FROM memberships WHERE org_id = ORG`, startIs(api.CodePermissionDenied)},
		"UserGone":    {`DELETE FROM users WHERE id = USER`, startIs(api.CodeNotAuthenticated)},
		"UserRenamed": {`UPDATE users SET name = 'Grace' WHERE id = USER`, meSays("Grace")},
		"OrganizationRenamed": {
			`UPDATE organizations SET name = 'New' WHERE id = ORG`, meSays("New"),
		},
		"KeyRequired": {
			`UPDATE organizations SET key_required = true WHERE id = ORG`, startIs(api.CodeKeyRequired),
		},
		"FactorRequired": {
			`UPDATE organizations SET second_factor_required = true WHERE id = ORG`,
			startIs(api.CodeSecondFactorRequired),
		},
		"WorkflowInactive": {
			`UPDATE workflows SET is_active = false WHERE org_id = ORG`, startIs(api.CodeWorkflowInactive),
		},
		"WorkflowRenamed": {`UPDATE workflows SET slug = 'other' WHERE org_id = ORG`, startIs(api.CodeNotFound)},
		"WorkflowVersion": {`
			WITH version AS (
				INSERT INTO workflow_versions (org_id, workflow_id, number, definition_digest)
				SELECT org_id, workflow_id, 2, definition_digest FROM workflow_versions WHERE org_id = ORG
				RETURNING org_id)
			UPDATE workflows SET latest_version = 2 WHERE org_id IN (SELECT org_id FROM version)`, startsVersion2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := s.accessCast(t)
			// The second one is answered from what the first one has found.
			for range 2 {
				s.Must(t, http.StatusOK, c.me())
				s.Started(t, c.start(t, s))
			}
			s.Exec(t, strings.NewReplacer("ORG", "'"+c.orgID.String()+"'", "USER", "'"+c.userID.String()+"'").
				Replace(tt.change))
			tt.check(t, c)
		})
	}

	t.Run("FactorRemoved", func(t *testing.T) {
		t.Parallel()
		c := s.accessCast(t)
		s.Exec(t, `UPDATE organizations SET second_factor_required = true WHERE id = $1`, c.orgID)
		s.AddFactor(t, c.userID)
		for range 2 {
			s.Started(t, c.start(t, s))
		}
		s.Exec(t, `DELETE FROM second_factors WHERE user_id = $1`, c.userID)
		startIs(api.CodeSecondFactorRequired)(t, c)
		s.AddFactor(t, c.userID)
		s.Must(t, http.StatusOK, c.me())
	})

	t.Run("WorkflowDeleted", func(t *testing.T) {
		t.Parallel()
		c := s.accessCast(t)
		invalid := c.start(t, s).With("Content-Type", "image/png")
		for range 2 {
			s.Refused(t, api.CodeUnsupportedMediaType, invalid)
		}
		s.Exec(t, `DELETE FROM workflows WHERE org_id = $1`, c.orgID)
		s.Refused(t, api.CodeNotFound, invalid)
	})

	t.Run("TimeRunsOut", func(t *testing.T) {
		t.Parallel()
		c := s.accessCast(t)
		s.Exec(t, `
			UPDATE api_tokens SET expires_at = clock_timestamp() + interval '1 second' WHERE org_id = $1`, c.orgID)
		// Nothing is changed any more, so nothing but the time can end what is remembered.
		coretest.Eventually(t, func() bool { return s.Do(t, c.me()).Status == http.StatusUnauthorized })
		if left := coretest.One[float64](t, s.DB, `SELECT extract(epoch FROM expires_at - clock_timestamp())::float8
			FROM api_tokens WHERE org_id = $1`, c.orgID); left > 0 {
			t.Errorf("refused %.3f s before it expires", left)
		}
	})
}

// However many requests are under way while a token is revoked, none that begins afterwards is let through.
func TestRevocationRacesRequests(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for range 10 {
		c := s.accessCast(t)
		revoked := make(chan struct{})
		var clients sync.WaitGroup
		for range 8 {
			clients.Go(func() {
				for {
					late := false
					select {
					case <-revoked:
						late = true
					default:
					}
					got := s.Do(t, c.me())
					if late && got.Status != http.StatusUnauthorized {
						t.Errorf("status = %d for a request after the revocation", got.Status)
					}
					if late {
						return
					}
				}
			})
		}
		s.Must(t, http.StatusOK, c.me())
		s.Exec(t, `UPDATE api_tokens SET revoked_at = now() WHERE org_id = $1`, c.orgID)
		close(revoked)
		clients.Wait()
	}
}

// A tag that was never committed, or was lost with a failover, must not stand for another state later.
func TestAccessTagsNeverComeBack(t *testing.T) {
	t.Parallel()
	s := setup(t)
	c := s.accessCast(t)
	const renew = `UPDATE organizations SET name = name WHERE id = $1 RETURNING access_tag`
	tag := func() uuid.UUID {
		return coretest.One[uuid.UUID](t, s.DB, `SELECT access_tag FROM organizations WHERE id = $1`, c.orgID)
	}
	first := tag()
	tx, err := s.DB.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var lost uuid.UUID
	if err := tx.QueryRow(t.Context(), renew, c.orgID).Scan(&lost); err != nil {
		t.Fatal(err)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	renewed := coretest.One[uuid.UUID](t, s.DB, renew, c.orgID)
	if lost == first || renewed == first || renewed == lost {
		t.Errorf("tags = %s, %s rolled back, %s: want three", first, lost, renewed)
	}
	s.Exec(t, `UPDATE api_tokens SET last_used_at = now() WHERE org_id = $1`, c.orgID)
	if got := tag(); got != renewed {
		t.Errorf("tag = %s after a use was noted, want the same one, %s", got, renewed)
	}
}
