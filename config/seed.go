package config

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/users"
	"github.com/simplevalidations/simplevalidations/workflows"
)

// demoTokenLife keeps forgotten demonstration tokens from working for ever.
const demoTokenLife = 30 * 24 * time.Hour

// demoOutput is what seeding prints.
type demoOutput struct {
	BaseURL   string        `json:"base_url"`
	Dashboard demoDashboard `json:"dashboard"`
	Orgs      []DemoOrg     `json:"orgs"`
}

// demoPasswordBytes is how much is random in the password of the demonstration.
const demoPasswordBytes = 20

// demoDashboard is how to sign in to the dashboard. The password is empty where it was changed.
type demoDashboard struct {
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

func (p Program) seedCommand() *cobra.Command {
	var demo, asJSON, resetPassword bool
	command := &cobra.Command{
		Use: "seed --demo", Short: "Fill the database with demo data", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !demo {
				return &UsageError{Reason: "say what to seed: simplevalidations seed --demo"}
			}
			return p.withBackend(cmd.Context(), func(ctx context.Context, settings Settings, b *backend) error {
				project, err := NewProject(ctx, settings, p.Version, b.db, nil, b.log)
				if err != nil {
					return err
				}
				output, err := project.seedDemo(ctx, resetPassword)
				if err != nil {
					return err
				}
				if asJSON {
					return json.NewEncoder(p.Stdout).Encode(output)
				}
				return printDemo(p.Stdout, output)
			})
		},
	}
	command.Flags().BoolVar(&demo, "demo", false, "two organizations with workflows and tokens")
	command.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	command.Flags().BoolVar(&resetPassword, "reset-password", false,
		"set a new password for the dashboard, in place of one that was changed")
	return command
}

// seedDemo makes what is missing of the demonstration. Passwords and tokens are derived from SV_SECRET_KEY, so those
// that were printed before are printed again and keep working.
func (p *Project) seedDemo(ctx context.Context, resetPassword bool) (demoOutput, error) {
	orgs, err := p.SeedTenants(ctx)
	if err != nil {
		return demoOutput{}, err
	}
	visitor, err := p.seedVisitor(ctx, orgs, resetPassword)
	if err != nil {
		return demoOutput{}, fmt.Errorf("seed the visitor of the dashboard: %w", err)
	}
	return demoOutput{BaseURL: p.settings.Address(), Dashboard: visitor, Orgs: orgs}, nil
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
	for role, secret := range map[core.Role]*string{
		core.RoleOwner: &seeded.Tokens.Owner, core.RoleExecutor: &seeded.Tokens.Executor,
		core.RoleViewer: &seeded.Tokens.Viewer,
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

func (p *Project) seedMember(ctx context.Context, org users.Organization, role core.Role) (string, error) {
	user, err := p.userService.Accounts.EnsureUser(ctx, string(role)+"@"+org.Slug+".example", "Demo "+string(role))
	if err != nil {
		return "", err
	}
	if err := p.userService.SetMembership(ctx, org.ID, user.ID, role); err != nil {
		return "", err
	}
	return p.userService.EnsureToken(ctx, users.TokenRequest{
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
func (p *Project) seedVisitor(ctx context.Context, orgs []DemoOrg, resetPassword bool) (demoDashboard, error) {
	visitor := demoDashboard{
		Email:    "demo@" + orgs[0].Slug + ".example",
		Password: base32.StdEncoding.EncodeToString(p.demoSecret("password")[:demoPasswordBytes]),
	}
	user, err := p.userService.Accounts.EnsureUser(ctx, visitor.Email, "Demo visitor")
	if err != nil {
		return demoDashboard{}, err
	}
	for _, org := range orgs {
		if err := p.userService.SetMembership(ctx, org.ID, user.ID, core.RoleOwner); err != nil {
			return demoDashboard{}, err
		}
	}
	if err := p.userService.SetOperator(ctx, user.ID, true); err != nil {
		return demoDashboard{}, err
	}
	if user.PasswordHash == "" || resetPassword {
		return visitor, p.userService.SignIn.SetPassword(ctx, user.ID, visitor.Password)
	}
	matches, err := p.userService.SignIn.HasPassword(ctx, user, visitor.Password)
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
	if !core.HasCode(err, core.CodeNotFound) {
		return found, err
	}
	return p.workflowService.Create(ctx, orgID, draft)
}

func printDemo(w io.Writer, output demoOutput) error {
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
	password := output.Dashboard.Password
	if password == "" {
		//nolint:gosec // G101: it says that there is none to show.
		password = "that it has; simplevalidations seed --demo --reset-password sets a new one"
	}
	_, err := fmt.Fprintf(w, text, output.BaseURL, output.Orgs[0].Tokens.Executor, output.Dashboard.Email, password)
	return err
}
