package users

import (
	"cmp"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
)

// meBody says who the caller is.
type meBody struct {
	ID    uuid.UUID `json:"id"`
	Email string    `json:"email"`
	Name  string    `json:"name"`
	Org   orgBody   `json:"org"`
	Role  core.Role `json:"role"`
	// Token is the id of the token that was used.
	Token uuid.UUID `json:"token"`
}

// meV1Body says who the caller is to the existing command line client.
type meV1Body struct {
	Email string `json:"email"`
	Name  string `json:"name"`
	// Username is the e-mail address: users have no other name to sign in with.
	Username string `json:"username"`
}

type orgBody struct {
	ID   uuid.UUID `json:"id"`
	Slug string    `json:"slug"`
	Name string    `json:"name"`
}

// memberDraft asks for a new member.
type memberDraft struct {
	Email string    `json:"email" form:"email" validate:"required,email,max=254"`
	Name  string    `json:"name"  form:"name"  validate:"max=200,excludesrune=\x00"`
	Role  core.Role `json:"role"  form:"role"  validate:"oneof=owner admin author executor viewer"`
}

// memberChange is what of a member may change.
type memberChange struct {
	Role core.Role `json:"role" form:"role" validate:"oneof=owner admin author executor viewer"`
}

type memberBody struct {
	ID        uuid.UUID `json:"id"`
	Email     string    `json:"email"`
	Name      string    `json:"name"`
	Role      core.Role `json:"role"`
	CreatedAt string    `json:"created_at"`
}

func renderMember(m Member) memberBody {
	return memberBody{ID: m.ID, Email: m.Email, Name: m.Name, Role: m.Role, CreatedAt: core.FormatTime(m.CreatedAt)}
}

type tokensQuery struct {
	core.PageQuery
	TokenFilter
}

// tokenDraft asks for a new token.
type tokenDraft struct {
	Label string    `json:"label" validate:"required,max=100,excludesrune=\x00"`
	Role  core.Role `json:"role"  validate:"oneof=owner admin author executor viewer"`
	// ValidForMS is the token's life, up to 100 years; 0 is for ever.
	ValidForMS int64 `json:"valid_for_ms" validate:"min=0,max=3153600000000"`
}

// rotationDraft says how long the old token works on, up to 7 days.
type rotationDraft struct {
	OverlapMS int64 `json:"overlap_ms" validate:"min=0,max=604800000"`
}

// tokenBody is a token as clients see it: never its secret.
type tokenBody struct {
	ID         uuid.UUID     `json:"id"`
	Label      string        `json:"label"`
	Prefix     string        `json:"prefix"`
	Role       core.Role     `json:"role"`
	User       uuid.UUID     `json:"user"`
	Email      string        `json:"email"`
	State      TokenState    `json:"state"`
	ReplacedBy core.Optional `json:"replaced_by"`
	CreatedAt  string        `json:"created_at"`
	ExpiresAt  core.Optional `json:"expires_at"`
	RevokedAt  core.Optional `json:"revoked_at"`
	LastUsedAt core.Optional `json:"last_used_at"`
}

// secretBody is a new token with its secret.
type secretBody struct {
	tokenBody
	Secret string `json:"secret"`
}

func renderToken(t Token) tokenBody {
	return tokenBody{
		ID: t.ID, Label: t.Label, Prefix: t.Prefix, Role: t.Role, User: t.UserID, Email: t.Email, State: t.State,
		ReplacedBy: core.OptionalID(t.ReplacedBy), CreatedAt: core.FormatTime(t.CreatedAt),
		ExpiresAt: core.OptionalTime(t.ExpiresAt), RevokedAt: core.OptionalTime(t.RevokedAt),
		LastUsedAt: core.OptionalTime(t.LastUsedAt),
	}
}

// auditBody is one thing that was done.
type auditBody struct {
	ID        uuid.UUID `json:"id"`
	CreatedAt string    `json:"created_at"`
	// Actor and Token are absent where the operator or the service acted.
	Actor      core.Optional `json:"actor"`
	ActorEmail string        `json:"actor_email"`
	Token      core.Optional `json:"token"`
	Action     string        `json:"action"`
	TargetType string        `json:"target_type"`
	TargetID   string        `json:"target_id"`
	RequestID  core.Optional `json:"request_id"`
	Detail     string        `json:"detail"`
}

func renderAudit(e auditEntry) auditBody {
	return auditBody{
		ID: e.ID, CreatedAt: core.FormatTime(e.CreatedAt), Actor: core.OptionalID(e.ActorID), ActorEmail: e.ActorEmail,
		Token: core.OptionalID(e.TokenID), Action: e.Action, TargetType: e.TargetType, TargetID: e.TargetID,
		RequestID: core.Optional(e.RequestID), Detail: e.Detail,
	}
}

// usageBody is what the organization has used in the current period.
type usageBody struct {
	Metric string `json:"metric"`
	Used   int64  `json:"used"`
	// Quota and Remaining are null when there is no limit.
	Quota     *int64 `json:"quota"`
	Remaining *int64 `json:"remaining"`
	Overage   int64  `json:"overage"`
	Period    string `json:"period"`
	ResetsAt  string `json:"resets_at"`
	// CountedSince is absent when Days and Workflows are about the whole period.
	CountedSince core.Optional       `json:"counted_since"`
	Days         []dayUsageBody      `json:"days"`
	Workflows    []workflowUsageBody `json:"workflows"`
}

type dayUsageBody struct {
	Day  string `json:"day"`
	Runs int64  `json:"runs"`
}

type workflowUsageBody struct {
	Workflow uuid.UUID `json:"workflow"`
	Slug     string    `json:"slug"`
	Runs     int64     `json:"runs"`
}

func renderUsage(usage PeriodUsage, counts RunCounts) usageBody {
	body := usageBody{
		Metric: usage.Metric, Used: usage.Used, Quota: usage.Quota, Overage: usage.Overage,
		Period: usage.Period.Format("2006-01"), ResetsAt: core.FormatTime(usage.ResetsAt()),
		CountedSince: core.OptionalTime(counts.Since), Days: []dayUsageBody{},
		Workflows: make([]workflowUsageBody, len(counts.Workflows)),
	}
	if usage.Quota != nil {
		remaining := max(*usage.Quota-usage.Used, 0)
		body.Remaining = &remaining
	}
	for day := usage.Period; !day.After(usage.Today); day = day.AddDate(0, 0, 1) {
		name := day.Format(time.DateOnly)
		body.Days = append(body.Days, dayUsageBody{Day: name, Runs: counts.Days[name]})
	}
	for i, workflow := range counts.Workflows {
		body.Workflows[i] = workflowUsageBody{Workflow: workflow.ID, Slug: workflow.Slug, Runs: workflow.Runs}
	}
	slices.SortFunc(body.Workflows, func(a, b workflowUsageBody) int {
		return cmp.Or(cmp.Compare(b.Runs, a.Runs), cmp.Compare(a.Slug, b.Slug))
	})
	return body
}
