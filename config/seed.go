package config

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/users"
	"github.com/simplevalidations/simplevalidations/users/access"
	"github.com/simplevalidations/simplevalidations/workflows"
)

// demoTokenLife keeps forgotten demonstration tokens from working for ever.
const demoTokenLife = 30 * 24 * time.Hour

// Demo is the demonstration, as seeding prints it.
type Demo struct {
	BaseURL   string        `json:"base_url"`
	Dashboard DemoDashboard `json:"dashboard"`
	Orgs      []DemoOrg     `json:"orgs"`
}

// demoPasswordBytes is how much is random in the password of the demonstration.
const demoPasswordBytes = 20

// DemoDashboard is how to sign in to the dashboard. The password is empty where it was changed.
type DemoDashboard struct {
	Email    string `json:"email"`
	Password string `json:"password"`
}

// DemoOrg is an organization of the demonstration, with what a visitor needs to use it.
type DemoOrg struct {
	ID        uuid.UUID      `json:"id"`
	Slug      string         `json:"slug"`
	Name      string         `json:"name"`
	Tokens    DemoTokens     `json:"tokens"`
	Workflows []DemoWorkflow `json:"workflows"`
}

// DemoTokens are the secrets of tokens, one for each role that the demonstration shows.
type DemoTokens struct {
	Owner    string `json:"owner"`
	Executor string `json:"executor"`
	Viewer   string `json:"viewer"`
}

// DemoWorkflow is a workflow of the demonstration.
type DemoWorkflow struct {
	ID   uuid.UUID `json:"id"`
	Slug string    `json:"slug"`
}

// demoTenant is an organization of the demonstration.
type demoTenant struct {
	slug, name string
	quota      int64
}

func demoTenants() []demoTenant {
	return []demoTenant{
		{slug: "harbour-energy", name: "Harbour Energy", quota: 1_000_000},
		{slug: "tiny-quota", name: "Tiny Quota", quota: 3},
	}
}

// SeedDemo makes what is missing of the demonstration. Passwords and tokens are derived from SV_SECRET_KEY, so those
// that were printed before are printed again and keep working.
func (p *Project) SeedDemo(ctx context.Context, resetPassword bool) (Demo, error) {
	orgs, err := p.SeedTenants(ctx)
	if err != nil {
		return Demo{}, err
	}
	visitor, err := p.seedVisitor(ctx, orgs, resetPassword)
	if err != nil {
		return Demo{}, fmt.Errorf("seed the visitor of the dashboard: %w", err)
	}
	return Demo{BaseURL: p.settings.Address(), Dashboard: visitor, Orgs: orgs}, nil
}

// SeedTenants makes what is missing of the two organizations of the demonstration. The first may start a million runs a
// month, the second three.
func (p *Project) SeedTenants(ctx context.Context) ([]DemoOrg, error) {
	var orgs []DemoOrg
	for _, tenant := range demoTenants() {
		org, err := p.seedTenant(ctx, tenant)
		if err != nil {
			return nil, fmt.Errorf("seed %s: %w", tenant.slug, err)
		}
		orgs = append(orgs, org)
	}
	return orgs, nil
}

func (p *Project) seedTenant(ctx context.Context, tenant demoTenant) (DemoOrg, error) {
	org, err := p.userService.EnsureOrganization(ctx, tenant.slug, tenant.name, &tenant.quota)
	if err != nil {
		return DemoOrg{}, err
	}
	seeded := DemoOrg{ID: org.ID, Slug: org.Slug, Name: org.Name}
	for role, secret := range map[api.Role]*string{
		api.RoleOwner: &seeded.Tokens.Owner, api.RoleExecutor: &seeded.Tokens.Executor,
		api.RoleViewer: &seeded.Tokens.Viewer,
	} {
		if *secret, err = p.seedMember(ctx, org, role); err != nil {
			return DemoOrg{}, err
		}
	}
	drafts, err := workflows.DemoDrafts()
	if err != nil {
		return DemoOrg{}, err
	}
	for _, draft := range drafts {
		workflow, err := p.ensureWorkflow(ctx, org.ID, draft)
		if err != nil {
			return DemoOrg{}, err
		}
		seeded.Workflows = append(seeded.Workflows, DemoWorkflow{ID: workflow.ID, Slug: workflow.Slug})
	}
	return seeded, nil
}

func (p *Project) seedMember(ctx context.Context, org users.Organization, role api.Role) (string, error) {
	user, err := p.userService.Accounts.EnsureUser(ctx, string(role)+"@"+org.Slug+".example", "Demo "+string(role))
	if err != nil {
		return "", err
	}
	if err := p.userService.SetMembership(ctx, org.ID, user.ID, role); err != nil {
		return "", err
	}
	return p.userService.Access.EnsureToken(ctx, access.TokenRequest{
		OrgID: org.ID, UserID: user.ID, Label: "demo-" + string(role), Role: role, ValidFor: demoTokenLife,
	}, func(generation int) []byte {
		return p.demoSecret(fmt.Sprintf("token %d of the %s of %s", generation, role, org.ID))
	})
}

// demoSecret derives a secret of the demonstration from SV_SECRET_KEY; without one it is random.
func (p *Project) demoSecret(name string) []byte {
	secret := make([]byte, sha256.Size)
	if p.settings.SecretKey == "" {
		// rand.Read never returns an error: since Go 1.24 it ends the process instead.
		_, _ = rand.Read(secret)
		return secret
	}
	mac := hmac.New(sha256.New, []byte(p.settings.SecretKey))
	mac.Write([]byte("simplevalidations demonstration, " + name)) // It never fails.
	return mac.Sum(nil)
}

// seedVisitor makes a user who may sign in and see everything. A password that the user has changed is kept, and not
// known.
func (p *Project) seedVisitor(ctx context.Context, orgs []DemoOrg, resetPassword bool) (DemoDashboard, error) {
	visitor := DemoDashboard{
		Email:    "demo@" + orgs[0].Slug + ".example",
		Password: base32.StdEncoding.EncodeToString(p.demoSecret("password")[:demoPasswordBytes]),
	}
	user, err := p.userService.Accounts.EnsureUser(ctx, visitor.Email, "Demo visitor")
	if err != nil {
		return DemoDashboard{}, err
	}
	for _, org := range orgs {
		if err := p.userService.SetMembership(ctx, org.ID, user.ID, api.RoleOwner); err != nil {
			return DemoDashboard{}, err
		}
	}
	if err := p.userService.SetOperator(ctx, user.ID, true); err != nil {
		return DemoDashboard{}, err
	}
	if user.PasswordHash == "" || resetPassword {
		return visitor, p.userService.SignIn.SetPassword(ctx, user.ID, visitor.Password)
	}
	matches, err := p.userService.Accounts.Match(ctx, "", visitor.Password, user.PasswordHash)
	if !matches {
		visitor.Password = ""
	}
	return visitor, err
}

// ensureWorkflow leaves a workflow that is there as it is: the demonstration's user may have changed it.
func (p *Project) ensureWorkflow(
	ctx context.Context, orgID uuid.UUID, draft workflows.Draft,
) (workflows.Version, error) {
	found, err := p.workflowService.Find(ctx, orgID, draft.Slug, 0)
	if !errors.Is(err, api.CodeNotFound) {
		return found, err
	}
	return p.workflowService.Create(ctx, orgID, draft)
}

// Print writes how to use the demonstration.
func (d Demo) Print(w io.Writer) error {
	const text = `
The demonstration is ready.
  Dashboard  %[1]s/app/
             sign in as %[3]s with the password %[4]s
  API        %[1]s/api/docs/
  Guides     %[1]s/docs/

Start a run, and send the same command again to see it replayed:

  export TOKEN=%[2]s
  curl -i %[1]s/api/workflows/meter-readings/start/ \
    -H "Authorization: Bearer $TOKEN" -H 'Idempotency-Key: first-1' \
    -H 'Content-Type: text/csv' -H 'X-Filename: meter-readings.csv' \
    --data-binary @docs/samples/good/meter-readings.csv

`
	password := d.Dashboard.Password
	if password == "" {
		//nolint:gosec // G101: it says that there is none to show.
		password = "that it has; simplevalidations seed --demo --reset-password sets a new one"
	}
	_, err := fmt.Fprintf(w, text, d.BaseURL, d.Orgs[0].Tokens.Executor, d.Dashboard.Email, password)
	return err
}
