package pages

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
)

// TestListsAreNarrowedToATime has a key, a request and an audit record of two days ago in each list, and one of now.
func TestListsAreNarrowedToATime(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.Started(t, s.Start(t, "old-key"))
	s.FlushRequests(t)
	at := time.Now().Add(-48 * time.Hour)
	id := core.FirstIDAt(at)
	s.Exec(t, `UPDATE idempotency_keys SET id = $1, created_at = $2`, id, at)
	s.Exec(t, `UPDATE request_log SET id = $1, at = $2`, id, at)
	s.Exec(t, `UPDATE audit_records SET id = $1, created_at = $2, detail = 'old-key'
		WHERE action = 'run.start'`, id, at)
	s.Started(t, s.Start(t, "fresh-key"))
	s.FlushRequests(t)
	s.Exec(t, `UPDATE audit_records SET detail = 'fresh-key' WHERE action = 'run.start' AND detail = ''`)
	owner := s.Visitor(t, api.RoleOwner)
	day := func(days int) string { return time.Now().UTC().AddDate(0, 0, days).Format(time.DateOnly) }
	for _, list := range []string{"keys/?q=key", "requests/?status=2xx", "audit/?noun=everything"} {
		for query, shown := range map[string]struct{ old, fresh bool }{
			"":                                      {true, true},
			"period=7d":                             {true, true},
			"period=1h":                             {false, true},
			"period=24h":                            {false, true},
			"since=" + day(-3):                      {true, true},
			"since=" + day(-1):                      {false, true},
			"until=" + day(-1):                      {true, false},
			"since=" + day(-3) + "&until=" + day(0): {true, false},
		} {
			html := s.see(t, harbour(list+"&"+query, owner))
			_, table, _ := strings.Cut(html, "<tbody>")
			if strings.Contains(table, "old-key") != shown.old || strings.Contains(table, "fresh-key") != shown.fresh {
				t.Errorf("%s&%s does not show %+v", list, query, shown)
			}
		}
		html := s.see(t, harbour(list+"&period=month", owner))
		fixture.Shows(t, html, `<option value="month" selected>This month (UTC)</option>`, ": This month (UTC)")
		for _, query := range []string{"period=3y", "since=tomorrow", "until=2026-13-01"} {
			name, _, _ := strings.Cut(query, "=")
			html := s.Visit(t, http.StatusBadRequest, harbour(list+"&"+query, owner))
			fixture.Shows(t, html, `<a href="#`+name+`">`, `id="`+name+`"`)
		}
	}
}

// TestBarsLeadToTheKeysOfTheirDay follows the bar of today, and that of yesterday.
func TestBarsLeadToTheKeysOfTheirDay(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for range 2 {
		s.Started(t, s.Start(t, "of-today"))
	}
	s.Flush(t)
	viewer := s.Visitor(t, api.RoleViewer)
	html := s.see(t, harbour("keys/", viewer))
	today := s.Entry(t, "of-today").CreatedAt
	for days, want := range map[int]bool{0: true, -1: false} {
		span := url.Values{
			"since": {today.AddDate(0, 0, days).Format(time.DateOnly)},
			"until": {today.AddDate(0, 0, days+1).Format(time.DateOnly)},
		}
		address := fixture.HarbourPages + "keys/?" + span.Encode()
		fixture.Shows(t, html, `<a href="`+strings.ReplaceAll(address, "&", "&amp;")+`#keys">`)
		listed := s.see(t, fixture.Page(address, viewer))
		if strings.Contains(listed, ">of-today</a>") != want {
			t.Errorf("keys of the day %d lists the key of today: %t, want %t", days, !want, want)
		}
	}
}
