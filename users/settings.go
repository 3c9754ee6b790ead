package users

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/labstack/echo/v4"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/users/factors"
)

// orgSettings are what members see of their organization, and what its owners may change: the name, the policy for
// keys, the periods and whether a second factor is required. The rest is the operator's.
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
	// SecondFactorRequired says that members without a second factor may do nothing here.
	SecondFactorRequired bool
	// EventLog says that events are kept although no webhook wants them.
	EventLog bool
}

func (s *Service) orgSettings(ctx context.Context, orgID uuid.UUID) (orgSettings, error) {
	return readSettings(s.db.Gorm.WithContext(ctx), orgID)
}

func readSettings(query *gorm.DB, orgID uuid.UUID) (orgSettings, error) {
	var settings orgSettings
	err := query.Table("organizations").Where("id = ?", orgID).Select(`
		id, slug, name, created_at, suspended_at IS NOT NULL AS suspended, key_required, run_quota,
		overage_billing AS overage, max_tokens, second_factor_required, event_log,
		(extract(epoch FROM key_lifetime) * 1e9)::bigint AS key_lifetime,
		(extract(epoch FROM content_retention) * 1e9)::bigint AS content,
		(extract(epoch FROM findings_retention) * 1e9)::bigint AS findings`).Take(&settings).Error
	if err != nil {
		return orgSettings{}, fmt.Errorf("read the settings of an organization: %w", err)
	}
	return settings, nil
}

// changeOrganization changes settings of the principal's organization. Two who change different ones at once do not
// undo each other's.
func (s *Service) changeOrganization(
	ctx context.Context, principal core.Principal, change func(*orgSettings) error,
) (orgSettings, error) {
	changed, err := db.InGormTx(ctx, s.db, func(tx db.GormTx) (orgSettings, error) {
		lock := clause.Locking{Strength: "NO KEY UPDATE"}
		settings, err := readSettings(tx.Gorm(ctx).Clauses(lock), principal.OrgID)
		if err != nil {
			return orgSettings{}, err
		}
		before, required := settings.describe(), settings.SecondFactorRequired
		if err := change(&settings); err != nil {
			return orgSettings{}, err
		}
		settings.Name = strings.TrimSpace(settings.Name)
		if err := settings.check(); err != nil {
			return orgSettings{}, err
		}
		if settings.SecondFactorRequired && !required {
			if err := mayRequireFactor(ctx, tx, principal); err != nil {
				return orgSettings{}, err
			}
		}
		after := settings.describe()
		if after == before {
			return settings, nil
		}
		err = tx.Gorm(ctx).Model(&Organization{ID: settings.ID}).Updates(map[string]any{
			"name": settings.Name, "key_required": settings.KeyRequired, "key_lifetime": interval(settings.KeyLifetime),
			"content_retention": interval(settings.Content), "findings_retention": interval(settings.Findings),
			"second_factor_required": settings.SecondFactorRequired, "event_log": settings.EventLog,
		}).Error
		if err != nil {
			return orgSettings{}, fmt.Errorf("change the settings of organization %s: %w", settings.ID, err)
		}
		return settings, core.AuditBy(ctx, tx.Tx, principal, core.AuditRecord{
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

// check refuses what the database does not.
func (o orgSettings) check() error {
	if o.Name == "" {
		return core.InvalidField(api.FieldError{Pointer: "/name", Code: "required", Detail: "must not be empty"})
	}
	if o.KeyLifetime != nil && *o.KeyLifetime == 0 {
		return core.InvalidPayload(keyLifetimeBounds)
	}
	return nil
}

// mayRequireFactor refuses an owner without a second factor, who could not even take the requirement back.
func mayRequireFactor(ctx context.Context, tx db.GormTx, principal core.Principal) error {
	hasFactor, err := factors.HasIn(ctx, tx, principal.UserID)
	if err != nil || hasFactor {
		return err
	}
	return core.NewError(api.CodeSecondFactorRequired,
		"Set up a second factor for your own account before you require one of all members.")
}

// describe says the settings that owners may change, for the audit records.
func (o orgSettings) describe() string {
	policy := KeyPolicy{Required: o.KeyRequired}
	if o.KeyLifetime != nil {
		policy.Lifetime = *o.KeyLifetime
	}
	events := "events are kept where a webhook wants them"
	if o.EventLog {
		events = "all events are kept"
	}
	return fmt.Sprintf("%s, %s, %s, %s, %s", o.Name, DescribeKeys(policy),
		DescribeRetention(Retention{Content: o.Content, Findings: o.Findings}), DescribeFactor(o.SecondFactorRequired),
		events)
}

// The limits of periods; maxPeriodMS is a hundred years.
const (
	minKeyLifetimeMS = 60 * 1000
	maxKeyLifetimeMS = 30 * 24 * 3600 * 1000
	minRetentionMS   = 3600 * 1000
	maxPeriodMS      = 36500 * 24 * 3600 * 1000
)

func renderOrganization(o orgSettings) api.OrganizationSettings {
	return api.OrganizationSettings{
		ID: o.ID.String(), Slug: o.Slug, Name: o.Name, CreatedAt: api.At(o.CreatedAt), Suspended: o.Suspended,
		KeyRequired: o.KeyRequired, KeyLifetimeMS: inMS(o.KeyLifetime), ContentRetentionMS: inMS(o.Content),
		FindingsRetentionMS: inMS(o.Findings), RunQuota: o.RunQuota, Overage: o.Overage, MaxTokens: o.MaxTokens,
		SecondFactorRequired: o.SecondFactorRequired, EventLog: o.EventLog,
	}
}

func inMS(period *time.Duration) *int64 {
	if period == nil {
		return nil
	}
	return new(period.Milliseconds())
}

// organizationChange says what of the settings may change. What is left out stays as it is.
type organizationChange struct {
	Name                 *string  `json:"name"         validate:"omitempty,min=1,max=200,excludesrune=\x00"`
	KeyRequired          *bool    `json:"key_required"`
	KeyLifetimeMS        periodMS `json:"key_lifetime_ms"`
	ContentRetentionMS   periodMS `json:"content_retention_ms"`
	FindingsRetentionMS  periodMS `json:"findings_retention_ms"`
	SecondFactorRequired *bool    `json:"second_factor_required"`
	EventLog             *bool    `json:"event_log"`
}

// check refuses periods that the service does not keep.
func (c *organizationChange) check() error {
	if !c.KeyLifetimeMS.within(minKeyLifetimeMS, maxKeyLifetimeMS) {
		return invalidPeriod("key_lifetime_ms",
			fmt.Sprintf("must be from %d to %d, or null", minKeyLifetimeMS, maxKeyLifetimeMS))
	}
	retention := fmt.Sprintf("must be 0, from %d to %d, or null", minRetentionMS, maxPeriodMS)
	if !c.ContentRetentionMS.within(minRetentionMS, maxPeriodMS) && !c.ContentRetentionMS.within(0, 0) {
		return invalidPeriod("content_retention_ms", retention)
	}
	if !c.FindingsRetentionMS.within(minRetentionMS, maxPeriodMS) && !c.FindingsRetentionMS.within(0, 0) {
		return invalidPeriod("findings_retention_ms", retention)
	}
	return nil
}

func invalidPeriod(member, detail string) error {
	return core.InvalidPayload(member+" "+detail+".",
		api.FieldError{Pointer: "/" + member, Code: "invalid", Detail: detail})
}

// periodMS is a period in milliseconds. It may be absent, or null for that of the installation.
type periodMS struct {
	given bool
	ms    *int64
}

// UnmarshalJSONFrom reads a number of milliseconds or null.
func (p *periodMS) UnmarshalJSONFrom(decoder *jsontext.Decoder) error {
	p.given = true
	return json.UnmarshalDecode(decoder, &p.ms)
}

// within reports whether the period, if there is one, has these limits.
func (p *periodMS) within(low, high int64) bool {
	return p.ms == nil || (low <= *p.ms && *p.ms <= high)
}

// apply changes the settings.
func (c *organizationChange) apply(o *orgSettings) {
	if c.Name != nil {
		o.Name = *c.Name
	}
	if c.KeyRequired != nil {
		o.KeyRequired = *c.KeyRequired
	}
	if c.SecondFactorRequired != nil {
		o.SecondFactorRequired = *c.SecondFactorRequired
	}
	if c.EventLog != nil {
		o.EventLog = *c.EventLog
	}
	for period, wanted := range map[**time.Duration]periodMS{
		&o.KeyLifetime: c.KeyLifetimeMS, &o.Content: c.ContentRetentionMS, &o.Findings: c.FindingsRetentionMS,
	} {
		switch {
		case !wanted.given:
		case wanted.ms == nil:
			*period = nil
		default:
			*period = new(time.Duration(*wanted.ms) * time.Millisecond)
		}
	}
}

// readOrganization is GET /api/organization/.
func (a *App) readOrganization(c echo.Context, principal core.Principal) error {
	settings, err := a.service.orgSettings(c.Request().Context(), principal.OrgID)
	if err != nil {
		return err
	}
	return core.AnswerTagged(c, renderOrganization(settings))
}

// changeOrganization is PATCH /api/organization/. Repeating it changes nothing.
func (a *App) changeOrganization(c echo.Context, principal core.Principal) error {
	var wanted organizationChange
	if _, err := core.ReadJSON(c, a.check, maxAccountBytes, &wanted); err != nil {
		return err
	}
	if err := wanted.check(); err != nil {
		return err
	}
	settings, err := a.service.changeOrganization(c.Request().Context(), principal, func(o *orgSettings) error {
		if err := core.IfMatch(c).Check(renderOrganization(*o)); err != nil {
			return err
		}
		wanted.apply(o)
		return nil
	})
	if err != nil {
		return err
	}
	return core.AnswerTagged(c, renderOrganization(settings))
}
