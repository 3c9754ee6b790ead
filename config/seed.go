package config

import (
	"context"
	"crypto/rand"
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

// demoDashboard is how to sign in to the dashboard.
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
	var demo, asJSON bool
	command := &cobra.Command{
		Use: "seed --demo", Short: "Fill the database with the demonstration", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !demo {
				return &UsageError{Reason: "say what to seed: simplevalidations seed --demo"}
			}
			return p.withBackend(cmd.Context(), func(ctx context.Context, settings Settings, b *backend) error {
				project, err := NewProject(settings, p.Version, b.db, nil, b.log)
				if err != nil {
					return err
				}
				output, err := project.seedDemo(ctx)
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
	return command
}

// seedDemo makes what is missing of the demonstration, and new tokens and a new password each time: the secrets of
// earlier ones are not known to anybody but their holders, and the tokens go on working.
func (p *Project) seedDemo(ctx context.Context) (demoOutput, error) {
	orgs, err := p.SeedTenants(ctx)
	if err != nil {
		return demoOutput{}, err
	}
	visitor, err := p.seedVisitor(ctx, orgs)
	if err != nil {
		return demoOutput{}, fmt.Errorf("seed the visitor of the dashboard: %w", err)
	}
	return demoOutput{BaseURL: p.settings.Address(), Dashboard: visitor, Orgs: orgs}, nil
}

// SeedTenants makes what is missing of the two organizations of the demonstration, and new tokens each time. The first
// may start a million runs a month, the second three.
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
	user, err := p.userService.EnsureUser(ctx, string(role)+"@"+org.Slug+".example", "Demo "+string(role))
	if err != nil {
		return "", err
	}
	if err := p.userService.SetMembership(ctx, org.ID, user.ID, role); err != nil {
		return "", err
	}
	return p.userService.CreateToken(ctx, users.TokenRequest{
		OrgID: org.ID, UserID: user.ID, Label: "demonstration", Role: role, ValidFor: demoTokenLife,
	})
}

// seedVisitor makes a user who may sign in and see everything, with a new password each time.
func (p *Project) seedVisitor(ctx context.Context, orgs []DemoOrg) (demoDashboard, error) {
	visitor := demoDashboard{Email: "demo@" + orgs[0].Slug + ".example", Password: rand.Text()}
	user, err := p.userService.EnsureUser(ctx, visitor.Email, "Demo visitor")
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
	return visitor, p.userService.SetPassword(ctx, user.ID, visitor.Password)
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
	_, err := fmt.Fprintf(w, text, output.BaseURL, output.Orgs[0].Tokens.Executor,
		output.Dashboard.Email, output.Dashboard.Password)
	return err
}
