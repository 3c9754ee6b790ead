package audit

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"
	"gorm.io/gorm"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/users/account"
)

// auditPageQuery is the query of the page.
type auditPageQuery struct {
	core.PageQuery
	pages.PeriodQuery
	Filter
}

// auditPage is the audit log.
type auditPage struct {
	api.Page[auditRow]
	Actions []pages.Choice
	Span    pages.Span
	Chips   []pages.Chip
	// First is set on the first page.
	First bool
	// Problem is what is wrong with the filter. Then the list is empty.
	Problem *core.Error
}

// newAuditPage is the page with the form of the filters alone.
func newAuditPage(query auditPageQuery) auditPage {
	page := auditPage{
		Actions: auditedActions(query.Noun), Span: query.Span("Time", query.Since, query.Until),
		First: query.Cursor == "",
	}
	values := url.Values{}
	if query.Noun != "all" {
		values.Set("noun", query.Noun)
	}
	query.Values(values, query.Since, query.Until)
	action := pages.Filter{Name: "noun", Label: "Show", Text: pages.Chosen(page.Actions)}
	page.Chips = pages.Chips(values, append([]pages.Filter{action}, page.Span.Filters()...))
	return page
}

// auditRow is an entry as the page lists it.
type auditRow struct {
	auditEntry

	// Address is the page of the action's subject; "" if it has none.
	Address string
	// Target is what people call the subject; "" if it has no name.
	Target string
}

// Named reports whether the detail says already what the action was about.
func (r auditRow) Named() bool {
	return r.Target != "" && r.Address == "" && strings.Contains(r.Detail, r.Target)
}

// auditRowFor makes the rows, with the names of their subjects.
func auditRowFor(principal core.Principal, names map[string]string) func(auditEntry) auditRow {
	base := pages.Base(principal.OrgSlug)
	folders := map[string]string{"run": "runs/", "workflow": "workflows/", "webhook": "webhooks/"}
	return func(e auditEntry) auditRow {
		row := auditRow{auditEntry: e, Target: names[e.TargetID]}
		switch folder := folders[e.TargetType]; {
		case folder != "":
			row.Address = base + folder + e.TargetID + "/"
		case e.TargetType == "token" && row.Target != "":
			row.Address = base + "tokens/#" + e.TargetID
		case e.TargetType == "organization" && e.TargetID == principal.OrgID.String():
			row.Target = principal.OrgName
		}
		return row
	}
}

// auditedNames returns what people call the subjects of records: addresses of users and labels of tokens.
func (s *Service) auditedNames(
	ctx context.Context, orgID uuid.UUID, entries []auditEntry,
) (map[string]string, error) {
	targets := map[string][]uuid.UUID{}
	for _, e := range entries {
		if id, ok := core.ParseID(e.TargetID); ok {
			targets[e.TargetType] = append(targets[e.TargetType], id)
		}
	}
	emails, err := s.userEmails(ctx, targets["user"])
	if err != nil {
		return nil, err
	}
	labels, err := s.tokens.TokenLabels(ctx, orgID, targets["token"])
	if err != nil {
		return nil, err
	}
	names := make(map[string]string, len(emails)+len(labels))
	for _, found := range []map[uuid.UUID]string{emails, labels} {
		for id, name := range found {
			names[id.String()] = name
		}
	}
	return names, nil
}

// userEmails reads the addresses of users by their ids. Users who were deleted have none.
func (s *Service) userEmails(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]string, error) {
	found, err := gorm.G[account.User](s.db.Gorm).Select("id, email").Where("id IN ?", ids).Find(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the addresses of users: %w", err)
	}
	emails := make(map[uuid.UUID]string, len(found))
	for _, user := range found {
		emails[user.ID] = user.Email
	}
	return emails, nil
}

// auditedActions are the choices of Filter, first what the page lists unless something else is chosen.
func auditedActions(chosen string) []pages.Choice {
	return pages.Choices(chosen,
		"all", "everything except run starts",
		"everything", "everything",
		"token", "tokens",
		"member", "members",
		"invitation", "invitations",
		"session", "sign-ins and sessions",
		"password", "passwords",
		"second_factor", "second factors",
		"identity", "accounts at the provider",
		"user", "users",
		"workflow", "workflows",
		"run", "runs",
		"webhook", "webhooks",
		"idempotency_key", "idempotency keys",
		"organization", "the organization",
		"signing_secret", "signing secrets")
}

// auditPage is GET /app/orgs/{org}/audit/.
func (a *App) auditPage(c echo.Context, principal core.Principal) error {
	query, cursor, err := a.auditQuery(c)
	page := newAuditPage(query)
	if page.Problem = pages.Refusal(err); page.Problem != nil {
		return a.renderAudits(c, pages.RefusalStatus(c, page.Problem), page)
	}
	if err != nil {
		return err
	}
	entries, err := a.service.audits(c.Request().Context(), principal.OrgID, query.Filter, cursor)
	if err != nil {
		return err
	}
	names, err := a.service.auditedNames(c.Request().Context(), principal.OrgID, entries)
	if err != nil {
		return err
	}
	page.Page = core.MapPage(core.NewPage(cursor, entries, uuid.Nil, auditEntry.id, *c.Request().URL),
		auditRowFor(principal, names))
	return a.renderAudits(c, http.StatusOK, page)
}

func (a *App) renderAudits(c echo.Context, status int, page auditPage) error {
	return a.pages.Render(c, status, "audit", pages.Page{
		Title: "Audit log", Section: pages.SectionAudit, Data: page,
	})
}

// auditQuery returns the query even if it is refused, so that the form can show what was entered.
func (a *App) auditQuery(c echo.Context) (auditPageQuery, core.Cursor, error) {
	var query auditPageQuery
	cursor, err := pages.ReadQuery(c, a.check, &query, &query.Since, &query.Until)
	// Almost all records are starts of runs, which have a list of their own.
	query.Noun = cmp.Or(query.Noun, "all")
	return query, cursor, err
}
