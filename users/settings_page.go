package users

import (
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/pages"
)

// settingsForm is what owners change. A period that is left empty is the one of the installation.
type settingsForm struct {
	Name         string `form:"name"          validate:"required,max=200,excludesrune=\x00"`
	KeyRequired  bool   `form:"key_required"`
	KeyHours     string `form:"key_hours"     validate:"omitempty,numeric,max=12"`
	ContentDays  string `form:"content_days"  validate:"omitempty,numeric,max=12"`
	FindingsDays string `form:"findings_days" validate:"omitempty,numeric,max=12"`
	// SecondFactorRequired is what owners with a second factor may turn on.
	SecondFactorRequired bool `form:"second_factor_required"`
	EventLog             bool `form:"event_log"`
}

// daysLong is the length of a day.
const daysLong = 24 * time.Hour

func newSettingsForm(o orgSettings) settingsForm {
	return settingsForm{
		Name: o.Name, KeyRequired: o.KeyRequired, KeyHours: countOf(o.KeyLifetime, time.Hour),
		ContentDays: countOf(o.Content, daysLong), FindingsDays: countOf(o.Findings, daysLong),
		SecondFactorRequired: o.SecondFactorRequired, EventLog: o.EventLog,
	}
}

// countOf is a period in a unit, with what is left of it behind the point; "" for none.
func countOf(period *time.Duration, unit time.Duration) string {
	if period == nil {
		return ""
	}
	return strconv.FormatFloat(float64(*period)/float64(unit), 'f', -1, 64)
}

// periodOf is what countOf has written.
func periodOf(field, count string, unit time.Duration) (*time.Duration, error) {
	if count == "" {
		return nil, nil //nolint:nilnil // no period is the one of the installation
	}
	number, err := strconv.ParseFloat(count, 64)
	if err != nil || number < 0 || number > maxPeriodMS/float64(unit.Milliseconds()) {
		return nil, core.InvalidField(api.FieldError{
			Parameter: field, Code: "number", Detail: "must be a number that is not negative, or empty",
		})
	}
	return new(time.Duration(number * float64(unit)).Round(time.Second)), nil
}

// settingsPage shows the settings of an organization.
type settingsPage struct {
	Settings orgSettings
	Form     settingsForm
	// Changes is set if the visitor may change them, and Secrets if the visitor may see the signing secrets.
	Changes, Secrets bool
	Problem          *core.Error
}

// settingsPage is GET /app/orgs/{org}/settings/.
func (a *App) settingsPage(c echo.Context, principal core.Principal) error {
	return a.renderSettings(c, http.StatusOK, principal, nil, nil)
}

// renderSettings shows the settings, with the form as it was filled in; nil is the form as it is shown first.
func (a *App) renderSettings(
	c echo.Context, status int, principal core.Principal, form *settingsForm, problem *core.Error,
) error {
	settings, err := a.service.orgSettings(c.Request().Context(), principal.OrgID)
	if err != nil {
		return err
	}
	shown := settingsPage{
		Settings: settings, Form: newSettingsForm(settings), Changes: principal.Role.Allows(api.RoleOwner),
		Secrets: principal.Role.Allows(api.RoleAdmin), Problem: problem,
	}
	if form != nil {
		shown.Form = *form
	}
	return a.pages.Render(c, status, "settings", pages.Page{
		Title: "Settings", Section: pages.SectionSettings, Data: shown,
	})
}

// settingsForm is POST /app/orgs/{org}/settings/.
func (a *App) settingsForm(c echo.Context, principal core.Principal) error {
	var form settingsForm
	err := core.BindForm(c, a.check, &form)
	var lifetime, content, findings *time.Duration
	if err == nil {
		lifetime, err = periodOf("key_hours", form.KeyHours, time.Hour)
	}
	if err == nil {
		content, err = periodOf("content_days", form.ContentDays, daysLong)
	}
	if err == nil {
		findings, err = periodOf("findings_days", form.FindingsDays, daysLong)
	}
	if err == nil {
		_, err = a.service.changeOrganization(c.Request().Context(), principal, func(o *orgSettings) error {
			o.Name, o.KeyRequired = form.Name, form.KeyRequired
			o.SecondFactorRequired, o.EventLog = form.SecondFactorRequired, form.EventLog
			o.KeyLifetime, o.Content, o.Findings = lifetime, content, findings
			return nil
		})
	}
	if err != nil {
		return pages.Refuse(c, err, func(c echo.Context, status int, problem *core.Error) error {
			return a.renderSettings(c, status, principal, &form, problem)
		})
	}
	return pages.Redirect(c, pages.Base(principal.OrgSlug)+"settings/", "The settings are saved.")
}
