package pages

import (
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
)

// Choice is an option of a select.
type Choice struct {
	Value, Text string
	Chosen      bool
}

// Choices makes the options of a select from pairs of a value and its text.
func Choices(chosen string, pairs ...string) []Choice {
	choices := make([]Choice, 0, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		choices = append(choices, Choice{Value: pairs[i], Text: pairs[i+1], Chosen: pairs[i] == chosen})
	}
	return choices
}

// Chosen is the text of the choice, or "" if it is the first one, which selects everything.
func Chosen(choices []Choice) string {
	if i := slices.IndexFunc(choices, func(c Choice) bool { return c.Chosen }); i > 0 {
		return choices[i].Text
	}
	return ""
}

// Filter is a filter of a list: its name in the query, its label, and its value as people read it.
type Filter struct {
	Name, Label, Text string
}

// Chip names a filter that is set, and leads to the list without it.
type Chip struct {
	Text, Address string
}

// Chips are the filters that have a text. The values are the query of the list.
func Chips(values url.Values, filters []Filter) []Chip {
	var chips []Chip
	for _, filter := range filters {
		if filter.Text == "" {
			continue
		}
		rest := maps.Clone(values)
		rest.Del(filter.Name)
		chips = append(chips, Chip{Text: filter.Label + ": " + filter.Text, Address: "?" + rest.Encode()})
	}
	return chips
}

// listQuery is the query of a page with a list, which has a core.PageQuery and a PeriodQuery.
type listQuery interface {
	ReadTimes(since, until *string) error
	Parse() (core.Cursor, error)
}

// ReadQuery reads the query of a page with a list, its times as ReadTimes does, and its texts without the spaces around
// them. A refused query is filled in as well, so that the form can show what was entered.
func ReadQuery(
	c echo.Context, check *core.Validator, query listQuery, since, until *string, texts ...*string,
) (core.Cursor, error) {
	if err := (&echo.DefaultBinder{}).BindQueryParams(c, query); err != nil {
		return core.Cursor{}, core.InvalidParameter("query", "cannot be read").Because(err)
	}
	for _, text := range texts {
		*text = strings.TrimSpace(*text)
	}
	if err := query.ReadTimes(since, until); err != nil {
		return core.Cursor{}, err
	}
	if err := check.Query(query); err != nil {
		return core.Cursor{}, err
	}
	return query.Parse()
}

// LinkValues are the values that are not empty, by name, for the query of a link.
func LinkValues(named map[string]string) url.Values {
	values := url.Values{}
	for name, value := range named {
		if value != "" {
			values.Set(name, value)
		}
	}
	return values
}

// PeriodQuery is the part of a list's query that names a period which ends now. It stands for a time since which the
// list goes, and which moves on.
type PeriodQuery struct {
	Period string `query:"period" validate:"omitempty,oneof=1h today 24h 7d 30d month"`
}

// ReadTimes reads the times of a list's query as people write them. A period replaces the first one.
func (q PeriodQuery) ReadTimes(since, until *string) error {
	var err error
	if *since, err = ReadTime("since", *since); err != nil {
		return err
	}
	if *until, err = ReadTime("until", *until); err != nil {
		return err
	}
	if begin := q.begin(time.Now().UTC()); !begin.IsZero() {
		*since = begin.Format(time.RFC3339)
	}
	return nil
}

// begin is when the period begins; zero for a period that there is not.
func (q PeriodQuery) begin(now time.Time) time.Time {
	today := now.Truncate(24 * time.Hour)
	switch q.Period {
	case "1h":
		return now.Add(-time.Hour)
	case "today":
		return today
	case "24h":
		return now.AddDate(0, 0, -1)
	case "7d":
		return now.AddDate(0, 0, -7)
	case "30d":
		return now.AddDate(0, 0, -30)
	case "month":
		return today.AddDate(0, 0, 1-today.Day())
	default:
		return time.Time{}
	}
}

// Values adds the times, as ReadTimes has read them, to the query of a link.
func (q PeriodQuery) Values(values url.Values, since, until string) {
	if q.Period != "" {
		values.Set("period", q.Period)
	} else if since != "" {
		values.Set("since", since)
	}
	if until != "" {
		values.Set("until", until)
	}
}

// Span is the part of a form for the times of a list.
type Span struct {
	// Label says which time of a row is meant.
	Label   string
	Periods []Choice
	// Since and Until are the exact times; "" where there is none.
	Since, Until string
}

// Span fills in the form. The times are those that ReadTimes has read.
func (q PeriodQuery) Span(label, since, until string) Span {
	span := Span{Label: label, Since: TimeField(since), Until: TimeField(until), Periods: Choices(q.Period,
		"", "Any time", "1h", "Last hour", "today", "Today (UTC)", "24h", "Last 24 hours", "7d", "Last 7 days",
		"30d", "Last 30 days", "month", "This month (UTC)")}
	if q.Period != "" {
		span.Since = ""
	}
	return span
}

// IsExact reports whether a time is set exactly.
func (s Span) IsExact() bool { return s.Since != "" || s.Until != "" }

// Filters are the times that are set.
func (s Span) Filters() []Filter {
	return []Filter{
		{"period", s.Label, Chosen(s.Periods)}, {"since", "Since", s.Since}, {"until", "Until", s.Until},
	}
}
