package users

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/idempotency/admin"
	"github.com/simplevalidations/simplevalidations/core/pages"
)

// tokenForm asks for a new token. Sent twice it makes one.
type tokenForm struct {
	ID    uuid.UUID `form:"id"    validate:"required"`
	Label string    `form:"label" validate:"required,max=100,excludesrune=\x00"`
	Role  core.Role `form:"role"  validate:"oneof=owner admin author executor viewer"`
	// Days is the token's life; 0 is for ever.
	Days int64 `form:"days" validate:"min=0,max=36500"`
}

// newTokenForm is the form as it is shown first.
func newTokenForm() (tokenForm, error) {
	id, err := core.NewID()
	return tokenForm{ID: id, Role: core.RoleExecutor, Days: 90}, err
}

// choice is an option of a form.
type choice struct {
	Value, Text string
	Chosen      bool
}

// rolesUpTo are the roles that somebody may give, the least first.
func rolesUpTo(most, chosen core.Role) []choice {
	var choices []choice
	for _, role := range core.Roles() {
		if most.Allows(role) {
			choices = append(choices, choice{Value: string(role), Text: string(role), Chosen: role == chosen})
		}
	}
	return choices
}

func tokenLives(chosen int64) []choice {
	choices := []choice{
		{Value: "7", Text: "7 days"},
		{Value: "30", Text: "30 days"},
		{Value: "90", Text: "90 days"},
		{Value: "365", Text: "1 year"},
		{Value: "0", Text: "until it is revoked"},
	}
	for i := range choices {
		choices[i].Chosen = choices[i].Value == strconv.FormatInt(chosen, 10)
	}
	return choices
}

// tokensPage lists tokens, with the form for a new one.
type tokensPage struct {
	core.Page[tokenRow]
	// All says that the tokens of all members are listed.
	All     bool
	State   TokenState
	States  []TokenState
	Form    tokenForm
	Roles   []choice
	Lives   []choice
	Problem *core.Error
}

// tokenRow is a token as the page lists it.
type tokenRow struct {
	Token
	Pill pages.Pill
	// MayRotate and MayRevoke say which buttons there are.
	MayRotate, MayRevoke bool
}

func tokenRowFor(principal core.Principal) func(Token) tokenRow {
	return func(t Token) tokenRow {
		tone := map[TokenState]string{TokenActive: "ok", TokenExpired: "idle", TokenRevoked: "idle"}[t.State]
		return tokenRow{
			Token: t, Pill: pages.NewPill(tone, string(t.State)),
			MayRotate: t.mayBeRotated(principal) == nil, MayRevoke: t.State == TokenActive,
		}
	}
}

// secretPage shows a new token's secret, this once.
type secretPage struct {
	Token  Token
	Secret string
	// Overlap is how long the token works on that this one replaces; "" for none.
	Overlap string
}

// membersPage lists members, with the form for a new one.
type membersPage struct {
	core.Page[memberRow]
	// Manages says that the visitor may add members.
	Manages bool
	Form    memberDraft
	Roles   []choice
	Problem *core.Error
}

type memberRow struct {
	Member
	// Self says that it is the visitor.
	Self bool
	// Roles are those that the visitor may give the member; none where the member is out of reach.
	Roles []choice
}

func memberRowFor(principal core.Principal) func(Member) memberRow {
	return func(m Member) memberRow {
		row := memberRow{Member: m, Self: m.ID == principal.UserID}
		if principal.Role.Allows(core.RoleAdmin) && principal.Role.Allows(m.Role) {
			row.Roles = rolesUpTo(principal.Role, m.Role)
		}
		return row
	}
}

// usagePage shows what the organization has used in the current period.
type usagePage struct {
	Usage PeriodUsage
	// Left is what remains of the quota; nil where there is none.
	Left  *int64
	Gauge *pages.Gauge
	Chart pages.Bars
	// CountedSince is set when the ledgers are about a part of the period.
	CountedSince *time.Time
	Workflows    []WorkflowRuns
	Tokens       []TokenRuns
	// Saved is how many runs replays have spared in the last days.
	Saved     int64
	SavedDays int
}

func newUsagePage(usage PeriodUsage, counts RunCounts, tokens []TokenRuns, days []admin.Day) usagePage {
	page := usagePage{
		Usage: usage, CountedSince: counts.Since, Workflows: counts.Workflows, Tokens: tokens,
		Chart: pages.Bars{Rows: "Day", Series: []pages.Series{{Name: "runs", Tone: "run"}}},
	}
	if usage.Quota != nil {
		left := max(*usage.Quota-usage.Used, 0)
		page.Left = &left
		page.Gauge = &pages.Gauge{
			Label: fmt.Sprintf("%s of %s runs used", pages.Number(usage.Used), pages.Number(*usage.Quota)),
			Used:  usage.Used, Limit: *usage.Quota,
		}
	}
	for day := usage.Period; !day.After(usage.Today); day = day.AddDate(0, 0, 1) {
		name := day.Format(time.DateOnly)
		page.Chart.Bars = append(page.Chart.Bars, pages.Bar{
			Label: name, Tick: tickOf(day), Values: []int64{counts.Days[name]},
			Address: "../runs/?since=" + core.FormatTime(day) + "&until=" + core.FormatTime(day.AddDate(0, 0, 1)),
		})
	}
	page.Chart.Label = fmt.Sprintf("Runs per day since %s: %s in all",
		usage.Period.Format(time.DateOnly), pages.Number(page.Chart.Total(0)))
	for _, day := range days {
		page.Saved += day.Replayed
	}
	page.SavedDays = len(days)
	slices.SortFunc(page.Workflows, func(a, b WorkflowRuns) int { return int(b.Runs - a.Runs) })
	return page
}

// tickOf labels every fifth day, so that the labels have room.
func tickOf(day time.Time) string {
	const step = 5
	if day.Day()%step != 1 {
		return ""
	}
	return day.Format("2 Jan")
}

// auditPage lists what was done.
type auditPage struct {
	core.Page[auditRow]
	Deeds []choice
}

// auditRow is an entry as the page lists it.
type auditRow struct {
	auditEntry

	// Address is the page of what it was done to; "" where there is none.
	Address string
}

func auditRowFor(principal core.Principal) func(auditEntry) auditRow {
	folders := map[string]string{"run": "runs/", "workflow": "workflows/"}
	return func(e auditEntry) auditRow {
		row := auditRow{auditEntry: e}
		if folder := folders[e.TargetType]; folder != "" {
			row.Address = pages.Base(principal.OrgSlug) + folder + e.TargetID + "/"
		}
		return row
	}
}

// auditedDeeds are the choices of AuditFilter.
func auditedDeeds(chosen string) []choice {
	choices := []choice{
		{Value: "", Text: "everything"},
		{Value: "all", Text: "all but starts of runs"},
		{Value: "token", Text: "tokens"},
		{Value: "member", Text: "members"},
		{Value: "workflow", Text: "workflows"},
		{Value: "run", Text: "runs"},
		{Value: "idempotency_key", Text: "idempotency keys"},
		{Value: "organization", Text: "the organization"},
	}
	for i := range choices {
		choices[i].Chosen = choices[i].Value == chosen
	}
	return choices
}

// accountPage is about the visitor alone.
type accountPage struct {
	Sessions []Session
	// MinPassword is the shortest password.
	MinPassword int
	Problem     *core.Error
}

// Others counts the sessions in other browsers.
func (p accountPage) Others() int { return max(len(p.Sessions)-1, 0) }

// passwordForm asks for another password.
type passwordForm struct {
	Current string `form:"current" validate:"required"`
	New     string `form:"new"     validate:"required,min=12,max=500"`
	Again   string `form:"again"   validate:"required,eqfield=New"`
}
