package users

import (
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
)

// The limits of periods; maxPeriodMS is a hundred years.
const (
	minKeyLifetimeMS = 60 * 1000
	maxKeyLifetimeMS = 30 * 24 * 3600 * 1000
	minRetentionMS   = 3600 * 1000
	maxPeriodMS      = 36500 * 24 * 3600 * 1000
)

// organizationBody is the organization of the caller with its settings.
type organizationBody struct {
	ID          uuid.UUID `json:"id"`
	Slug        string    `json:"slug"`
	Name        string    `json:"name"`
	CreatedAt   string    `json:"created_at"`
	Suspended   bool      `json:"suspended"`
	KeyRequired bool      `json:"key_required"`
	// KeyLifetimeMS and the periods are null where those of the installation hold; a period of 0 is for ever.
	KeyLifetimeMS       *int64 `json:"key_lifetime_ms"`
	ContentRetentionMS  *int64 `json:"content_retention_ms"`
	FindingsRetentionMS *int64 `json:"findings_retention_ms"`
	// RunQuota is null where there is no limit.
	RunQuota  *int64 `json:"run_quota"`
	Overage   bool   `json:"overage"`
	MaxTokens int    `json:"max_tokens"`
}

func renderOrganization(o orgSettings) organizationBody {
	return organizationBody{
		ID: o.ID, Slug: o.Slug, Name: o.Name, CreatedAt: core.FormatTime(o.CreatedAt), Suspended: o.Suspended,
		KeyRequired: o.KeyRequired, KeyLifetimeMS: inMS(o.KeyLifetime), ContentRetentionMS: inMS(o.Content),
		FindingsRetentionMS: inMS(o.Findings), RunQuota: o.RunQuota, Overage: o.Overage, MaxTokens: o.MaxTokens,
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
	Name                *string  `json:"name"         validate:"omitempty,min=1,max=200,excludesrune=\x00"`
	KeyRequired         *bool    `json:"key_required"`
	KeyLifetimeMS       periodMS `json:"key_lifetime_ms"`
	ContentRetentionMS  periodMS `json:"content_retention_ms"`
	FindingsRetentionMS periodMS `json:"findings_retention_ms"`
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
		core.FieldError{Pointer: "/" + member, Code: "invalid", Detail: detail})
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
