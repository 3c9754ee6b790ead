package users

import (
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
}

type orgBody struct {
	ID   uuid.UUID `json:"id"`
	Slug string    `json:"slug"`
	Name string    `json:"name"`
}

// usageBody is the runs counter of the current period.
type usageBody struct {
	Metric string `json:"metric"`
	Used   int64  `json:"used"`
	// Quota and Remaining are null when there is no limit.
	Quota     *int64 `json:"quota"`
	Remaining *int64 `json:"remaining"`
	Period    string `json:"period"`
	ResetsAt  string `json:"resets_at"`
}

func renderUsage(usage Usage) usageBody {
	body := usageBody{
		Metric: usage.Metric, Used: usage.Used, Quota: usage.Quota,
		Period: usage.Period.Format("2006-01"), ResetsAt: core.FormatTime(usage.ResetsAt()),
	}
	if usage.Quota != nil {
		remaining := max(*usage.Quota-usage.Used, 0)
		body.Remaining = &remaining
	}
	return body
}
