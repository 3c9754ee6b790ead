package users

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
)

// maxPeriodMS is a hundred years.
const maxPeriodMS = 36500 * 24 * 3600 * 1000

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

// periodMS is a period in milliseconds. It may be absent, or null for that of the installation.
type periodMS struct {
	given  bool
	period *time.Duration
}

// UnmarshalJSON reads a number of milliseconds or null.
func (p *periodMS) UnmarshalJSON(text []byte) error {
	p.given = true
	var ms *int64
	if err := json.Unmarshal(text, &ms); err != nil {
		return fmt.Errorf("read a period: %w", err)
	}
	if ms == nil {
		return nil
	}
	if *ms < 0 || *ms > maxPeriodMS {
		return fmt.Errorf("%d ms is not a period", *ms)
	}
	p.period = new(time.Duration(*ms) * time.Millisecond)
	return nil
}

// apply changes the settings.
func (c organizationChange) apply(o *orgSettings) {
	if c.Name != nil {
		o.Name = *c.Name
	}
	if c.KeyRequired != nil {
		o.KeyRequired = *c.KeyRequired
	}
	for period, wanted := range map[**time.Duration]periodMS{
		&o.KeyLifetime: c.KeyLifetimeMS, &o.Content: c.ContentRetentionMS, &o.Findings: c.FindingsRetentionMS,
	} {
		if wanted.given {
			*period = wanted.period
		}
	}
}

// readOrganization is GET /api/organization/.
func (a *App) readOrganization(c echo.Context, principal core.Principal) error {
	settings, err := a.service.orgSettings(c.Request().Context(), principal.OrgID)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, renderOrganization(settings))
}

// changeOrganization is PATCH /api/organization/. Repeating it changes nothing.
func (a *App) changeOrganization(c echo.Context, principal core.Principal) error {
	var wanted organizationChange
	if _, err := core.ReadJSON(c, a.check, maxAccountBytes, &wanted); err != nil {
		return err
	}
	settings, err := a.service.changeOrganization(c.Request().Context(), principal, wanted.apply)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, renderOrganization(settings))
}
