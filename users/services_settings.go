package users

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/users/account"
)

// orgSettings are what members see of their organization, and what its owners may change: the name, the policy for
// keys and the periods. The rest is the operator's.
type orgSettings struct {
	ID          uuid.UUID
	Slug        string
	Name        string
	CreatedAt   time.Time
	Suspended   bool
	KeyRequired bool
	// KeyLifetime and the periods are nil where those of the installation hold; a period of 0 is for ever.
	KeyLifetime       *time.Duration
	Content, Findings *time.Duration
	RunQuota          *int64
	Overage           bool
	MaxTokens         int
}

// changeOrganization changes settings of the principal's organization. Two who change different ones at once do not
// undo each other's.
func (s *Service) changeOrganization(
	ctx context.Context, principal core.Principal, change func(*orgSettings) error,
) (orgSettings, error) {
	changed, err := db.InTx(ctx, s.db, func(tx db.Tx) (orgSettings, error) {
		settings, err := lockSettings(ctx, tx, principal.OrgID)
		if err != nil {
			return orgSettings{}, err
		}
		before := settings.describe()
		if err := change(&settings); err != nil {
			return orgSettings{}, err
		}
		settings.Name = strings.TrimSpace(settings.Name)
		if settings.Name == "" {
			return orgSettings{}, core.InvalidPayload("Please look at 1 field again.", core.FieldError{
				Pointer: "/name", Code: "required", Detail: "must not be empty",
			})
		}
		if settings.KeyLifetime != nil && *settings.KeyLifetime == 0 {
			return orgSettings{}, core.InvalidPayload(keyLifetimeBounds)
		}
		after := settings.describe()
		if after == before {
			return settings, nil
		}
		if err := updateSettings(ctx, tx, settings); err != nil {
			return orgSettings{}, err
		}
		return settings, account.Audit(ctx, tx, principal, core.AuditRecord{
			Action: "organization.change", TargetType: "organization", TargetID: principal.OrgID.String(),
			Detail: before + " -> " + after,
		})
	})
	switch db.ViolatedConstraint(err) {
	case "ck_organizations_key_lifetime":
		return orgSettings{}, core.InvalidPayload(keyLifetimeBounds)
	case "ck_organizations_retention":
		return orgSettings{}, core.InvalidPayload(
			"Documents and findings are kept for an hour at least and a hundred years at most, or for ever (0).")
	}
	return changed, err
}

// describe says the settings that owners may change, for the audit records.
func (o orgSettings) describe() string {
	policy := KeyPolicy{Required: o.KeyRequired}
	if o.KeyLifetime != nil {
		policy.Lifetime = *o.KeyLifetime
	}
	return fmt.Sprintf("%s, %s, %s", o.Name, describeKeys(policy),
		describeRetention(Retention{Content: o.Content, Findings: o.Findings}))
}
