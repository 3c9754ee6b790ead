package users

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/users/account"
	"github.com/simplevalidations/simplevalidations/users/quota"
)

// Organization is a tenant. How its keys, documents and runs are treated beyond the quota are further columns, which
// Principal carries and the operator's commands set.
type Organization struct {
	ID   uuid.UUID `gorm:"primaryKey"`
	Slug string    `validate:"required,max=63"`
	Name string    `validate:"required,max=200"`
	// RunQuota is how many runs a month the organization may start; nil is unlimited.
	RunQuota  *int64    `validate:"omitempty,min=0"`
	CreatedAt time.Time `gorm:"->"`
}

// CreateOrganization adds a tenant whose quota is the limit; nil is unlimited.
func (s *Service) CreateOrganization(ctx context.Context, slug, name string, limit *int64) (Organization, error) {
	org := Organization{ID: core.NewID(), Slug: slug, Name: name, RunQuota: limit}
	if err := s.check.Body(org); err != nil {
		return Organization{}, err
	}
	err := db.DoGorm(ctx, s.db, func(tx db.GormTx) error {
		if err := gorm.G[Organization](tx.Gorm(ctx)).Create(ctx, &org); err != nil {
			return err
		}
		return auditOperator(ctx, tx.NewBatch(), org.ID, "organization.create", slug+", "+DescribeQuota(limit))
	})
	switch db.ViolatedConstraint(err) {
	case "uq_organizations_slug":
		return Organization{}, fmt.Errorf("organization %q %w", slug, account.ErrTaken)
	case "ck_organizations_slug":
		return Organization{}, core.InvalidPayload("A slug has lower-case letters, digits and hyphens, 63 at most.")
	}
	if err != nil {
		return Organization{}, fmt.Errorf("create organization %q: %w", slug, err)
	}
	return org, nil
}

// Organization finds a tenant by its slug.
func (s *Service) Organization(ctx context.Context, slug string) (Organization, error) {
	org, err := gorm.G[Organization](s.db.Gorm).Where("slug = ?", slug).Take(ctx)
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return Organization{}, core.NewError(api.CodeNotFound, fmt.Sprintf("There is no organization %q.", slug))
	}
	if err != nil {
		return Organization{}, fmt.Errorf("find organization %q: %w", slug, err)
	}
	return org, nil
}

// SetRunQuota sets how many runs a month the organization may start, from now on; nil is unlimited.
// What is already used stays used: the current period's quota never falls below it.
func (s *Service) SetRunQuota(ctx context.Context, orgID uuid.UUID, limit *int64) error {
	if limit != nil && *limit < 0 {
		return core.InvalidPayload("A quota is 0 or more.")
	}
	return db.DoGorm(ctx, s.db, func(tx db.GormTx) error {
		_, err := gorm.G[Organization](tx.Gorm(ctx)).Where("id = ?", orgID).Update(ctx, "run_quota", limit)
		if err != nil {
			return fmt.Errorf("set the quota of organization %s: %w", orgID, err)
		}
		batch := tx.NewBatch()
		quota.QueueChange(batch, orgID, limit)
		return auditOperator(ctx, batch, orgID, "organization.set_quota", DescribeQuota(limit))
	})
}

// KeyPolicy says whether an organization requires idempotency keys, and how long they are kept.
type KeyPolicy struct {
	Required bool
	// Lifetime is from a minute to 30 days; zero is the default of the settings.
	Lifetime time.Duration
}

const keyLifetimeBounds = "Keys are kept for a minute at least and 30 days at most."

// SetKeyPolicy sets the policy from the next request on. Keys that are in use keep their expiry.
func (s *Service) SetKeyPolicy(ctx context.Context, orgID uuid.UUID, policy KeyPolicy) error {
	outOfBounds := core.InvalidPayload(keyLifetimeBounds)
	if policy.Lifetime < 0 {
		return outOfBounds
	}
	err := s.setColumns(ctx, orgID, "organization.set_keys", DescribeKeys(policy), map[string]any{
		"key_required": policy.Required, "key_lifetime": interval(db.NonZero(policy.Lifetime)),
	})
	if db.ViolatedConstraint(err) == "ck_organizations_key_lifetime" {
		return outOfBounds
	}
	return err
}

// SetOverage sets whether the organization may start runs beyond its quota, each charged on its own.
func (s *Service) SetOverage(ctx context.Context, orgID uuid.UUID, allowed bool) error {
	return s.setColumns(ctx, orgID, "organization.set_overage", DescribeOverage(allowed),
		map[string]any{"overage_billing": allowed})
}

// RequireFactor sets whether members without a second factor are refused, from their next request on.
func (s *Service) RequireFactor(ctx context.Context, orgID uuid.UUID, required bool) error {
	return s.setColumns(ctx, orgID, "organization.set_second_factor", DescribeFactor(required),
		map[string]any{"second_factor_required": required})
}

// setColumns sets columns of an organization on the operator's behalf, and audits it in the same transaction.
func (s *Service) setColumns(
	ctx context.Context, orgID uuid.UUID, action, detail string, columns map[string]any,
) error {
	return db.DoGorm(ctx, s.db, func(tx db.GormTx) error {
		err := tx.Gorm(ctx).Model(&Organization{}).Where("id = ?", orgID).Updates(columns).Error
		if err != nil {
			return fmt.Errorf("change organization %s: %w", orgID, err)
		}
		return auditOperator(ctx, tx.NewBatch(), orgID, action, detail)
	})
}

// interval is a period as a value of a column, which is NULL without one.
func interval(period *time.Duration) any {
	if period == nil {
		return nil
	}
	return gorm.Expr("make_interval(secs => ?)", period.Seconds())
}

// auditOperator sends a batch together with the record of what the operator has done.
func auditOperator(ctx context.Context, batch *db.Batch, orgID uuid.UUID, action, detail string) error {
	core.Audit(batch, core.AuditRecord{
		OrgID: orgID, Action: action, TargetType: "organization", TargetID: orgID.String(), Detail: detail,
	})
	return batch.Send(ctx)
}

// EnsureOrganization returns the organization with the slug and creates it when it is not there.
func (s *Service) EnsureOrganization(ctx context.Context, slug, name string, limit *int64) (Organization, error) {
	org, err := s.Organization(ctx, slug)
	if !errors.Is(err, api.CodeNotFound) {
		return org, err
	}
	org, err = s.CreateOrganization(ctx, slug, name, limit)
	if errors.Is(err, account.ErrTaken) {
		return s.Organization(ctx, slug)
	}
	return org, err
}

// Slugs returns the slugs of organizations by their ids.
func (s *Service) Slugs(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]string, error) {
	found, err := gorm.G[Organization](s.db.Gorm).Select("id, slug").Where("id IN ?", ids).Find(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the slugs of organizations: %w", err)
	}
	slugs := make(map[uuid.UUID]string, len(found))
	for _, org := range found {
		slugs[org.ID] = org.Slug
	}
	return slugs, nil
}

// DescribeKeys says what a policy of keys means, for operators.
func DescribeKeys(policy KeyPolicy) string {
	text := "keys are optional"
	if policy.Required {
		text = "keys are required"
	}
	if policy.Lifetime == 0 {
		return text + " and kept for the default time"
	}
	return text + " and kept for " + policy.Lifetime.String()
}

// DescribeOverage says what becomes of runs beyond the quota, for operators.
func DescribeOverage(allowed bool) string {
	if allowed {
		return "runs beyond the quota are charged one by one"
	}
	return "no runs beyond the quota"
}

// DescribeFactor says whether members need a second factor, for operators.
func DescribeFactor(required bool) string {
	if required {
		return "a second factor is required"
	}
	return "a second factor is optional"
}

// DescribeQuota says what a quota allows, for operators.
func DescribeQuota(limit *int64) string {
	if limit == nil {
		return "unlimited runs a month"
	}
	return strconv.FormatInt(*limit, 10) + " runs a month"
}

// errImporting means that a part of the organization is still missing.
var errImporting = errors.New("the import of the organization has not ended: repeat org import with the same archive")

// SetSuspended lets the members of an organization read and do nothing else, from their next request on in every
// process, or ends that. Runs that were accepted before are executed. Repeating a suspension is not an error, and keeps
// the time of the first one.
func (s *Service) SetSuspended(ctx context.Context, orgID uuid.UUID, suspended bool, reason string) error {
	action, since := "organization.resume", any(nil)
	if suspended {
		action, since = "organization.suspend", gorm.Expr("coalesce(suspended_at, now())")
	}
	err := s.setColumns(ctx, orgID, action, reason, map[string]any{"suspended_at": since})
	if db.ViolatedConstraint(err) == "ck_organizations_import" {
		return errImporting
	}
	return err
}

// Forever is a period without an end, as operators write and read it.
const Forever = "forever"

// Retention is how long an organization's documents and findings are kept after the end of their runs: nil is the
// period of the settings, and 0 is for ever.
type Retention struct {
	Content  *time.Duration
	Findings *time.Duration
}

// SetRetention sets how long documents and findings are kept, also for runs that have ended.
func (s *Service) SetRetention(ctx context.Context, orgID uuid.UUID, retention Retention) error {
	err := s.setColumns(ctx, orgID, "organization.set_retention", DescribeRetention(retention), map[string]any{
		"content_retention": interval(retention.Content), "findings_retention": interval(retention.Findings),
	})
	if db.ViolatedConstraint(err) == "ck_organizations_retention" {
		return core.InvalidPayload("Documents and findings are kept for an hour at least and a hundred years at most.")
	}
	return err
}

// DescribeRetention says how long what is kept, for operators.
func DescribeRetention(retention Retention) string {
	return "documents " + describePeriod(retention.Content) + ", findings " + describePeriod(retention.Findings)
}

func describePeriod(period *time.Duration) string {
	switch {
	case period == nil:
		return "by default"
	case *period == 0:
		return Forever
	default:
		return period.String()
	}
}

// SetTokenLimit sets how many active tokens each member may have, from the next token on. Existing tokens stay.
func (s *Service) SetTokenLimit(ctx context.Context, orgID uuid.UUID, limit int) error {
	err := s.setColumns(ctx, orgID, "organization.set_tokens", DescribeTokenLimit(limit),
		map[string]any{"max_tokens": limit})
	if db.ViolatedConstraint(err) == "ck_organizations_max_tokens" {
		return core.InvalidPayload("A member may have from 1 to 10000 active tokens.")
	}
	return err
}

// DescribeTokenLimit says how many tokens a member may have, for operators.
func DescribeTokenLimit(limit int) string {
	return core.Plural(limit, "active token") + " for each member"
}

// Setup is which first steps an organization has made.
type Setup struct {
	// HasToken is set once a token was created, and HasColleague once the organization has a second member.
	HasToken, HasColleague bool
}

// Setup reads the first steps of an organization.
func (s *Service) Setup(ctx context.Context, orgID uuid.UUID) (Setup, error) {
	var setup Setup
	err := s.db.Gorm.WithContext(ctx).Raw(`SELECT EXISTS (SELECT FROM api_tokens WHERE org_id = @org) AS has_token,
		(SELECT count(*) FROM (SELECT FROM memberships WHERE org_id = @org LIMIT 2) AS members) > 1 AS has_colleague`,
		sql.Named("org", orgID)).Scan(&setup).Error
	if err != nil {
		return Setup{}, fmt.Errorf("read the first steps of an organization: %w", err)
	}
	return setup, nil
}
