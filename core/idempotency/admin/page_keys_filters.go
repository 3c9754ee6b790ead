package admin

import (
	"net/url"

	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/pages"
)

// keysQuery is the query of the page and of its export.
type keysQuery struct {
	core.PageQuery
	pages.PeriodQuery
	EntryFilter
}

// keysQuery returns the query even if it is refused, so that the form can show what was entered.
func (a *App) keysQuery(c echo.Context) (keysQuery, core.Cursor, error) {
	var query keysQuery
	cursor, err := pages.ReadQuery(c, a.check, &query, &query.Since, &query.Until, &query.Search, &query.Key)
	return query, cursor, err
}

// values encodes the filters that are set, for links.
func (q keysQuery) values() url.Values {
	values := pages.LinkValues(map[string]string{
		"q": q.Search, "key": q.Key, "endpoint": q.Endpoint, "state": q.State,
	})
	q.Values(values, q.Since, q.Until)
	return values
}

// fields are the part of the form for the times.
func (q keysQuery) fields() pages.Span { return q.Span("First used", q.Since, q.Until) }

func (q keysQuery) chips() []pages.Chip {
	return pages.Chips(q.values(), append([]pages.Filter{
		{Name: "q", Label: "Contains", Text: q.Search},
		{Name: "key", Label: "Key", Text: q.Key},
		{Name: "endpoint", Label: "Operation", Text: q.Endpoint},
		{Name: "state", Label: "State", Text: pages.Chosen(stateChoices(q.State))},
	}, q.fields().Filters()...))
}

// stateChoices offers every state, with the words of the pills in the table below.
func stateChoices(chosen string) []pages.Choice {
	pairs := []string{"", "Any state"}
	for _, state := range []api.KeyState{
		api.KeyStateInProgress, api.KeyStateAbandoned, api.KeyStateDead, api.KeyStateFinished, api.KeyStateExpired,
	} {
		pairs = append(pairs, string(state), pillOf(Entry{State: state}).Text)
	}
	return pages.Choices(chosen, pairs...)
}

// Filtered reports whether a filter is set.
func (p *keysPage) Filtered() bool { return p.Filter != EntryFilter{} }

// More reports whether one of the filters is set that are rarely wanted.
func (p *keysPage) More() bool { return p.Filter.Key != "" || p.Span.IsExact() }

// isStuck reports whether the key can be released.
func (e Entry) isStuck() bool { return e.State == api.KeyStateAbandoned || e.State == api.KeyStateDead }
